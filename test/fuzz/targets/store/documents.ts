import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect } from "vitest";
import { openMemoryStore } from "../../../../packages/event-log/src/memory/open-memory-store.js";
import type { Store } from "../../../../packages/event-log/src/ports/store.js";
import { openSqliteStore } from "../../../../packages/event-log/src/sqlite/open-sqlite-store.js";
import { systemClock } from "../../../../packages/resilience/src/clock.js";
import { valueTarget } from "../../engine/target.js";

let stores: Store[] = [];
const name = fc.oneof(
  fc.constantFrom("source", "__proto__", "constructor", "", "é", "a\0b", "'; --"),
  fc.string({ unit: "binary", maxLength: 20 }),
);

export const documents = valueTarget({
  name: "documents",
  rule: "a document of any kind, id and JSON comes back as it was stored, from every store",
  runs: 100,
  values: fc.tuple(name, name, fc.jsonValue({ maxDepth: 4, noUnicodeString: false })),
  async open() {
    const directory = mkdtempSync(join(tmpdir(), "sluice-fuzz-documents-"));
    stores = [
      await openMemoryStore({ clock: systemClock }),
      await openSqliteStore({ directory, clock: systemClock }),
    ];
    return async () => {
      await Promise.all(stores.map((store) => store.close()));
      rmSync(directory, { recursive: true, force: true });
    };
  },
  async check([kind, id, value]) {
    // -0 is no JSON.
    const json = JSON.parse(JSON.stringify(value));
    for (const { config } of stores) {
      const before = await config.get(kind, id);
      const put = await config.put(kind, id, json, before?.version ?? 0);
      expect(put.value).toEqual(json);
      expect(await config.get(kind, id)).toEqual(put);
      expect((await config.list(kind)).find((one) => one.id === id)).toEqual(put);
      await expect(config.put(kind, id, 0, put.version + 1)).rejects.toMatchObject({ code: "conflict" });
      expect(await config.delete(kind, id)).toBe(true);
    }
  },
});
