import { openMemoryStore, SUPPRESSION, type SuppressionDocument } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import type { Engine } from "../../src/engine/runner/audiences.js";
import { SuppressedIdChanges } from "../../src/engine/runner/suppressed-ids.js";

test("what changes while the suppressions are read is told as it is now", async () => {
  const clock = manualClock();
  const { config } = openMemoryStore({ clock });
  const document: SuppressionDocument = {
    ...{ of: "d1", kind: "user", key: "k", since: "2026-01-01T00:00:00.000Z" },
    spans: [{ after: 3 as SuppressionDocument["spans"][number]["after"] }],
  };
  await config.put(SUPPRESSION, "d1", document);
  const changes = new SuppressedIdChanges(new Uint8Array(32));
  const loading = changes.loadAll(config);
  changes.add("d1", undefined);
  await loading;
  const told: unknown[] = [];
  changes.tell({ suppress: ({ ids }) => void told.push(...ids) } as Pick<Engine, "suppress"> as Engine);
  expect(told).toEqual([{ digest: "d1", spans: [] }]);
});
