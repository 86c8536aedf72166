import { openMemoryStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { afterEach, expect, test } from "vitest";
import { createIngest } from "../../src/ingest/ingest.js";
import { ingestMetrics } from "../../src/ingest/ingest-metrics.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

const store = openMemoryStore({ clock: systemClock });
afterEach(() => store.close());

test("large bodies are parsed one per turn: a message that arrives after a hundred of them overtakes most", async () => {
  const ingest = createIngest({
    store,
    sources: {
      planOf: () => undefined,
      has: () => true,
      find: () => ({ id: "src_1", kind: "server" }),
      version: 1,
      begin: () => () => {},
      close: () => {},
    },
    clock: systemClock,
    metrics: ingestMetrics(createMetrics(), systemClock),
    live: liveEvents(),
    region: "oregon",
    regionUrls: {},
  });
  const ended: string[] = [];
  const take = async (name: string, body: string): Promise<void> => {
    const headers = { authorization: `Basic ${btoa("key:")}` };
    const taking = ingest.take({ headers, remoteAddress: "127.0.0.1", vouch: () => {} }, undefined, () =>
      Buffer.from(body),
    );
    await taking.catch(() => {}).finally(() => ended.push(name));
  };
  const heavy = "[".repeat(40_000);
  const all = Array.from({ length: 100 }, () => take("heavy", heavy));
  all.push(take("light", '{"batch":[{"type":"page","userId":"u","messageId":"m"}]}'));
  await Promise.all(all);
  expect(ended.indexOf("light")).toBeLessThan(5);
  expect(ended).toHaveLength(101);
});
