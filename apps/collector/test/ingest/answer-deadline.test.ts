import { openMemoryStore, StorageUnavailable, type Store } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, onTestFinished, test } from "vitest";
import { createIngest } from "../../src/ingest/ingest.js";
import { ingestMetrics } from "../../src/ingest/ingest-metrics.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

type AppendResult = Awaited<ReturnType<Store["log"]["append"]>>;

const STORED = { duplicates: [] } as unknown as AppendResult;

/** An ingestion whose log answers when the test says so. */
function silentLog() {
  const clock = manualClock();
  const metrics = createMetrics();
  const store = openMemoryStore({ clock });
  onTestFinished(() => store.close());
  const appends: PromiseWithResolvers<AppendResult>[] = [];
  const append = (): Promise<AppendResult> => {
    const answer = Promise.withResolvers<AppendResult>();
    appends.push(answer);
    return answer.promise;
  };
  let underWay = 0;
  const ingest = createIngest({
    store: { ...store, health: () => ({ kind: "ready" }), log: { ...store.log, append } },
    sources: {
      planOf: () => undefined,
      has: () => true,
      find: () => ({ id: "src_1", kind: "server" }),
      version: 1,
      begin: () => {
        underWay += 1;
        return () => {
          underWay -= 1;
        };
      },
      close: () => {},
    },
    ...{ clock, metrics: ingestMetrics(metrics, clock), live: liveEvents() },
    ...{ region: undefined, regionUrls: {}, answerWithinMs: 8_000 },
  });
  const refused = async (code: string): Promise<number | undefined> => {
    const samples = await metrics.read("sluice_ingest_refused_requests_total");
    return samples.find(({ labels }) => labels.code === code)?.value;
  };
  const take = (messageId: string) =>
    ingest.take(
      { headers: { authorization: `Basic ${btoa("key:")}` }, remoteAddress: "127.0.0.1", vouch: () => {} },
      undefined,
      () => Buffer.from(JSON.stringify({ batch: [{ type: "page", userId: "u", messageId }] })),
    );
  const appended = async (count: number): Promise<void> => {
    while (appends.length < count) await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, take, appends, appended, refused, underWay: () => underWay };
}

test("messages that the log does not answer are answered after 8 s; the write goes on", async () => {
  const { clock, take, appends, appended, refused, underWay } = silentLog();
  const ends: unknown[] = [];
  const first = take("m1").then(
    (answer) => ends.push(answer),
    (error: unknown) => ends.push(error),
  );
  await appended(1);
  await clock.advance(7_999);
  expect(ends).toEqual([]);
  await clock.advance(1);
  await first;
  expect(ends).toEqual([
    expect.objectContaining({
      code: "owner_lost",
      message: expect.stringMatching(/may have been carried out: the log .+ not answered for 8 s/),
    }),
  ]);
  expect(await refused("owner_lost")).toBe(1);
  // Changes of the source still wait for the write.
  expect(underWay()).toBe(1);

  // Nothing more is kept in memory meanwhile.
  await expect(take("m2")).rejects.toMatchObject({ code: "storage_unavailable" });
  expect(appends).toHaveLength(1);

  appends[0]?.resolve(STORED);
  while (underWay() > 0) await new Promise((resolve) => setImmediate(resolve));
  const third = take("m3");
  await appended(2);
  appends[1]?.resolve(STORED);
  expect(await third).toMatchObject({ success: true, accepted: 1 });
  await clock.advance(60_000);
});

test("a write that fails is counted as a refused request, once", async () => {
  const { clock, take, appends, appended, refused, underWay } = silentLog();
  const failing = take("m1").catch((error: unknown) => error);
  await appended(1);
  appends[0]?.reject(new StorageUnavailable("no space left on device"));
  expect(await failing).toMatchObject({ code: "storage_unavailable" });
  expect(await refused("storage_unavailable")).toBe(1);
  expect(underWay()).toBe(0);

  // One that fails after its client got an answer was counted then.
  const late = take("m2").catch((error: unknown) => error);
  await appended(2);
  await clock.advance(8_000);
  expect(await late).toMatchObject({ code: "owner_lost" });
  appends[1]?.reject(new StorageUnavailable("no space left on device"));
  while (underWay() > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(await refused("storage_unavailable")).toBe(1);
  expect(await refused("owner_lost")).toBe(1);
});
