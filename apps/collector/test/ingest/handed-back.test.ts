import { type EventLog, openMemoryStore } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, onTestFinished, test } from "vitest";
import type { SourceDocument } from "../../src/documents/documents.js";
import { createIngest } from "../../src/ingest/ingest.js";
import { ingestMetrics } from "../../src/ingest/ingest-metrics.js";
import { openSourceDirectory } from "../../src/ingest/sources/source-directory.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

const SOURCE: Partial<SourceDocument> = {
  name: "Shop",
  kind: "server",
  writeKeys: [{ key: "key", createdAt: "2026-11-21T00:00:00.000Z" }],
  blockedEvents: [],
  rateLimit: 3,
};

/** An ingestion whose log hands the first batch back, after `changes` were made. */
async function handingBack(
  changes: (put: (source: Partial<SourceDocument>) => Promise<unknown>) => Promise<unknown>,
) {
  const clock = manualClock();
  const store = openMemoryStore({ clock });
  onTestFinished(() => store.close());
  const put = (source: Partial<SourceDocument>): Promise<unknown> =>
    store.config.put("source", "src_1", source);
  await put(SOURCE);
  const sources = await openSourceDirectory(store.config);
  const metrics = createMetrics();
  let appends = 0;
  const append: EventLog["append"] = async (batch) => {
    appends += 1;
    if (appends > 1) return store.log.append(batch);
    // A change waits until the batch has been handed back.
    void changes(put);
    await new Promise(setImmediate);
    return { duplicates: [], isHandedBack: true };
  };
  const ingest = createIngest({
    store: { ...store, log: { ...store.log, append } },
    ...{ sources, clock, metrics: ingestMetrics(metrics, clock), live: liveEvents() },
    ...{ region: undefined, regionUrls: {}, mayHandBack: true },
  });
  const take = (batch: readonly object[]) =>
    ingest.take(
      { headers: { authorization: `Basic ${btoa("key:")}` }, remoteAddress: "127.0.0.1", vouch: () => {} },
      undefined,
      () => Buffer.from(JSON.stringify({ batch })),
    );
  return { store, metrics, take, appends: () => appends };
}

const page = (messageId: string) => ({ type: "page", userId: "u", messageId });

test("what is handed back is stored once, and counts once", async () => {
  const { store, metrics, take, appends } = await handingBack((put) => put({ ...SOURCE, name: "Store" }));
  expect(await take([page("a"), { type: "page" }, page("b")])).toMatchObject({
    accepted: 2,
    rejected: [{ index: 1 }],
  });
  expect(appends()).toBe(2);
  expect(store.log.head()).toBe(2);
  const [rejected] = await metrics.read("sluice_ingest_rejected_messages_total");
  expect(rejected?.value).toBe(1);
  expect((await store.rejections.find({}, { limit: 10 })).items).toHaveLength(1);
  // The limit of three is reached, not passed twice.
  await expect(take([page("c")])).rejects.toMatchObject({
    code: "rate_limited",
    details: { retryAfterSeconds: 1 },
  });
});

test("what is handed back is refused if its key was taken away meanwhile", async () => {
  const { store, take } = await handingBack((put) => put({ ...SOURCE, writeKeys: [] }));
  await expect(take([page("a")])).rejects.toMatchObject({ code: "invalid_write_key" });
  expect(store.log.head()).toBe(-1);
});
