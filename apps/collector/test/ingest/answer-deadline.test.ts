import { openMemoryStore, type Store } from "@sluice/event-log";
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
    ...{ clock, metrics: ingestMetrics(createMetrics(), clock), live: liveEvents() },
    ...{ region: undefined, regionUrls: {}, answerWithinMs: 8_000 },
  });
  const take = (messageId: string) =>
    ingest.take(
      { headers: { authorization: `Basic ${btoa("key:")}` }, remoteAddress: "127.0.0.1", vouch: () => {} },
      undefined,
      () => Buffer.from(JSON.stringify({ batch: [{ type: "page", userId: "u", messageId }] })),
    );
  const appended = async (count: number): Promise<void> => {
    while (appends.length < count) await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, take, appends, appended, underWay: () => underWay };
}

test("messages that the log does not answer are answered after 8 s; the write goes on", async () => {
  const { clock, take, appends, appended, underWay } = silentLog();
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
