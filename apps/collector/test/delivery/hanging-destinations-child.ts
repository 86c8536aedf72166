import { Type } from "@sinclair/typebox";
import { openSqliteStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { createDestination } from "../../src/delivery/control/connections.js";
import { startDelivery } from "../../src/delivery/start-delivery.js";
import { catalogOf } from "../../src/destinations/catalog.js";
import type { Destination, DestinationType } from "../../src/destinations/destination.js";
import type { SourceDocument } from "../../src/documents/documents.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

/**
 * Usage: `hanging-destinations-child.ts FOLDER ORDER`. Ten destinations hang, each at a different place in the log, while another one
 * delivers. Then they continue. Prints the number of delivered messages. Each message is 32 KB of empty objects, and twenty times as
 * large once decoded. Together they are 19 MB.
 */
const DESTINATIONS = 10;
const REQUESTS = 4;
const MESSAGES = 15;
const [directory = "", order] = process.argv.slice(2);
const heavy = `[${"{},".repeat(10_500)}{}]`;

let delivered = 0;
let hanging = 0;
const goOn = Promise.withResolvers<void>();
const allHang = Promise.withResolvers<void>();
const healthy = Promise.withResolvers<void>();
const allDelivered = Promise.withResolvers<void>();

const type: DestinationType = {
  type: "hanging",
  name: "Hanging",
  description: "Hangs until the test lets it continue",
  sources: ["server"],
  historical: { accepted: true },
  takesDeletions: "none",
  settings: Type.Object({}),
  parseSettings: async (settings: unknown) => ({ ok: true, settings }),
  describe: () => ({}),
  open: async (): Promise<Destination> => {
    let isFirst = true;
    return {
      flow: { concurrency: 50, order: order === "user" ? "user" : "none" },
      async deliver({ sourceId }) {
        if (sourceId !== "src_healthy") {
          if (isFirst && ++hanging === DESTINATIONS) allHang.resolve();
          isFirst = false;
          await goOn.promise;
        } else healthy.resolve();
        delivered += 1;
        if (delivered === DESTINATIONS * REQUESTS * MESSAGES + 1) allDelivered.resolve();
        return { kind: "delivered", reason: "" };
      },
      close: async () => {},
    };
  },
} as unknown as DestinationType;

const store = await openSqliteStore({ directory, clock: systemClock });
const catalog = catalogOf([type]);
const append = async (sourceId: string, request: number, content: string): Promise<void> => {
  const count = sourceId === "src_healthy" ? 1 : MESSAGES;
  const ids = Array.from({ length: count }, (_, index) => `${sourceId}-${request}-${index}`);
  const messages = ids.map(
    (messageId) =>
      `{"type":"track","messageId":"${messageId}","userId":"ann","event":"Heavy","properties":{"heavy":${content}}}`,
  );
  await store.log.append({
    sourceId,
    receivedAtMs: Date.now(),
    body: Buffer.from(`{"batch":[${messages.join(",")}]}`),
    itemCount: count,
    skipped: [],
    madeIds: [],
    keys: ids.map((messageId, index) => ({ index, messageId, userId: "ann", type: "track", event: "Heavy" })),
  });
};
const sourceIds = Array.from({ length: DESTINATIONS }, (_, index) => `src_${index}`);
for (const sourceId of [...sourceIds, "src_healthy"]) {
  await store.config.put<SourceDocument>("source", sourceId, {
    name: sourceId,
    kind: "server",
    createdAt: "2026-01-01T00:00:00.000Z",
    writeKeys: [],
    blockedEvents: [],
  });
  const made = await createDestination(
    { store, catalog, clock: systemClock },
    { type: "hanging", name: sourceId, sourceIds: [sourceId] },
  );
  if (made.kind !== "changed") throw new Error(JSON.stringify(made));
}
for (const sourceId of sourceIds)
  for (let request = 0; request < REQUESTS; request++) await append(sourceId, request, heavy);

const delivery = await startDelivery({
  store,
  catalog,
  clock: systemClock,
  logger: createLogger({ level: "error" }),
  metrics: createMetrics(),
  live: liveEvents(),
});
await allHang.promise;
await append("src_healthy", 0, "[]");
await healthy.promise;
goOn.resolve();
await allDelivered.promise;
await delivery.close(1_000);
await store.close();
process.stdout.write(`${delivered}\n`);
