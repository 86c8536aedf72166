import { setImmediate } from "node:timers/promises";
import { defineDestination } from "@sluice/destination";
import { openSqliteStore } from "@sluice/event-log";
import { batchOf } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { createDestination } from "../../src/delivery/control/connections.js";
import { startDelivery } from "../../src/delivery/start-delivery.js";
import { createCatalog } from "../../src/destinations/catalog.js";
import { secretBox } from "../../src/destinations/secret-box.js";
import type { SourceDocument } from "../../src/documents/documents.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import { egressPolicy } from "../../src/sender/egress-policy.js";

/**
 * Usage: `away-destination-child.ts FOLDER`. A destination with batches is away for an hour, with a backlog in the log that is several times
 * its memory. Then it takes everything. Prints the bytes of the backlog, those that were used more than before at most, and how many
 * messages arrived.
 */
const [directory = ""] = process.argv.slice(2);
const REQUESTS = 240;
const MESSAGES = 250;
const clock = manualClock();
const store = await openSqliteStore({ directory, clock });
const arrived = new Set<string>();
let isAway = true;
let attempts = 0;

const away = defineDestination({
  type: "away",
  name: "Away",
  settings: { type: "object", additionalProperties: false, properties: {} },
  open: () => ({
    async deliverBatch({ messages }) {
      attempts += 1;
      if (isAway) return { kind: "retry", reason: "away" };
      for (const { id } of messages) arrived.add(id);
      return { kind: "delivered", reason: "kept" };
    },
  }),
});

await store.config.put<SourceDocument>("source", "src_1", {
  ...{
    name: "Shop",
    kind: "server",
    createdAt: "2026-01-01T00:00:00.000Z",
    writeKeys: [],
    blockedEvents: [],
  },
});
let bytes = 0;
for (let request = 0; request < REQUESTS; request++) {
  const messages = Array.from({ length: MESSAGES }, (_, index) => ({
    messageId: `m${request}-${index}`,
    properties: { text: "x".repeat(1_500), number: index, list: [1, 2, 3] },
  }));
  const batch = batchOf(messages, { receivedAtMs: clock.now() });
  bytes += batch.body.byteLength;
  await store.log.append(batch);
}
const catalog = createCatalog({
  ...{ clock, secrets: secretBox(Buffer.alloc(32)), egress: egressPolicy({ allow: [] }) },
  ...{ exportsFolder: directory, given: [away] },
});
const made = await createDestination({ store, catalog, clock }, { type: "away", sourceIds: ["src_1"] });
if (made.kind !== "changed") throw new Error(JSON.stringify(made));
const { id } = made.destination;
// All messages are the destination's, also those from before it.
const found = await store.config.get<{ connections: readonly object[] }>("destination", id);
const connections = found?.value.connections.map((one) => ({ ...one, since: -1 })) ?? [];
await store.config.put("destination", id, { ...found?.value, connections }, found?.version ?? 0);

function used(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
const before = used();
const delivery = await startDelivery({
  ...{ store, catalog, clock, metrics: createMetrics(), live: liveEvents() },
  logger: createLogger({ write: () => {} }),
});
const pass = async (ms: number): Promise<void> => {
  await clock.advance(ms);
  // The store answers from another thread.
  await store.consumers.backlog(id);
  for (let turn = 0; turn < 5; turn++) await setImmediate();
};
let most = 0;
for (let passedMs = 0; passedMs < 3_600_000; passedMs += 2_000) {
  await pass(2_000);
  if (passedMs % 60_000 === 0) most = Math.max(most, used() - before);
}
const whileAway = attempts;
isAway = false;
while (arrived.size < REQUESTS * MESSAGES) await pass(2_000);
await delivery.close(1_000);
await store.close();
process.stdout.write(JSON.stringify({ bytes, most, attempts: whileAway, arrived: arrived.size }));
