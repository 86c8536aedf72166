import type { RateSpan } from "@sluice/control-api";
import type { ConfigStore } from "@sluice/event-log";
import { openMemoryStore, StorageUnavailable } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import { Counters } from "../../src/history/counters.js";
import { deliveryCounts } from "../../src/process/telemetry/delivery-counts.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import { RATE_SPANS } from "../../src/process/telemetry/rate-series.js";

function collectorCounters() {
  const metrics = createMetrics();
  const counts = deliveryCounts();
  return {
    metrics,
    ingested: metrics.counter("sluice_ingest_messages_total", "Messages", ["result"]),
    ended: metrics.counter("sluice_deliveries_total", "Deliveries", ["destination", "state"]),
    retried: metrics.counter("sluice_delivery_retries_total", "Retries", ["destination"]),
    counts,
    latency: { observe: (seconds: number) => counts.delivered("d1", seconds) },
  };
}

/** A store without documents that drops writes. */
const keptNowhere: ConfigStore = {
  ...openMemoryStore({ clock: manualClock() }).config,
  put: async (_kind, id, value) => ({ id, version: 1, value }),
};

test("a point counts everything in its interval, over all destinations", async () => {
  const clock = manualClock();
  const { metrics, counts, ingested, ended, retried, latency } = collectorCounters();
  ingested.inc(["accepted"], 1_000);
  const history = await Counters.start({ metrics, counts, clock, config: keptNowhere });
  ingested.inc(["accepted"], 6);
  ingested.inc(["duplicate"], 2);
  ingested.inc(["rejected"], 1);
  ended.inc(["d1", "delivered"], 3);
  ended.inc(["d2", "delivered"], 2);
  ended.inc(["d2", "failed"]);
  ended.inc(["d2", "filtered"], 9);
  retried.inc(["d1"], 4);
  for (let one = 0; one < 100; one++) latency.observe(one < 98 ? 0.02 : 0.4);
  await clock.advance(4_000);
  const { everyMs, points } = history.rates("5m");
  expect(everyMs).toBe(2_000);
  const counted = { accepted: 6, rejected: 1, delivered: 5, failed: 1, retried: 4 };
  expect(points).toMatchObject([
    { at: "2026-01-01T00:00:02.000Z", overMs: 2_000, ...counted },
    { at: "2026-01-01T00:00:04.000Z", accepted: 0, delivered: 0, failed: 0 },
  ]);
  expect(points[0]?.latencyP50Ms).toBeGreaterThan(10);
  expect(points[0]?.latencyP50Ms).toBeLessThan(25);
  expect(points[0]?.latencyP99Ms).toBeGreaterThan(250);
  expect(points[1]).not.toHaveProperty("latencyP50Ms");
  await history.close();
  expect(clock.pending).toBe(0);
});

test("each span keeps its points and no more, however long the collector runs", async () => {
  const clock = manualClock();
  const { metrics, counts, ingested } = collectorCounters();
  const history = await Counters.start({ metrics, counts, clock, config: keptNowhere });
  ingested.inc(["accepted"]);
  await clock.advance(2 * 60 * 60 * 1_000);
  ingested.inc(["accepted"], 5);
  await clock.advance(300_000);
  expect(history.rates("5m").points.length).toBe(RATE_SPANS["5m"].points);
  expect(history.rates("1h").points.length).toBe(RATE_SPANS["1h"].points);
  expect(history.rates("24h").points.map((point) => point.accepted)).toEqual([
    1,
    ...new Array<number>(23).fill(0),
    5,
  ]);
  await history.close();
});

test("setting the clock back makes no negative point and no gap", async () => {
  const clock = manualClock();
  const { metrics, counts, ingested } = collectorCounters();
  const history = await Counters.start({ metrics, counts, clock, config: keptNowhere });
  await clock.advance(2_000);
  clock.jump(-3_600_000);
  ingested.inc(["accepted"], 7);
  await clock.advance(4_000);
  const { points } = history.rates("5m");
  expect(points.length).toBe(3);
  expect(points.every(({ overMs }) => overMs === 2_000)).toBe(true);
  await history.close();
});

test("stored points survive a restart, a kill loses at most a minute, and old points are dropped", async () => {
  const clock = manualClock();
  const { config } = openMemoryStore({ clock });
  const accepted = (span: RateSpan, history: Counters) =>
    history.rates(span).points.flatMap(({ accepted }) => (accepted === 0 ? [] : [accepted]));
  const begin = async () => {
    const { metrics, counts, ingested } = collectorCounters();
    return { ingested, history: await Counters.start({ metrics, counts, clock, config: config }) };
  };

  const closed = await begin();
  closed.ingested.inc(["accepted"], 3);
  await clock.advance(20_000);
  await closed.history.close();

  await clock.advance(10_000);
  const killed = await begin();
  expect(accepted("5m", killed.history)).toEqual([3]);
  expect(accepted("1h", killed.history)).toEqual([3]);
  expect(accepted("24h", killed.history)).toEqual([3]);
  killed.ingested.inc(["accepted"], 4);
  await clock.advance(60_000);
  killed.ingested.inc(["accepted"], 5);
  await clock.advance(20_000);
  expect(accepted("5m", killed.history)).toEqual([3, 4, 5]);

  const again = await begin();
  expect(accepted("5m", again.history)).toEqual([3, 4]);
  expect(accepted("24h", again.history)).toEqual([3, 4]);
  await clock.advance(300_000);
  expect(accepted("5m", again.history)).toEqual([]);
  expect(accepted("1h", again.history)).toEqual([3, 4]);
  await again.history.close();

  clock.jump(-7_200_000);
  const before = await begin();
  expect(before.history.rates("1h").points).toEqual([]);
});

test("many restarts keep no more points than one long run", async () => {
  const clock = manualClock();
  const { config } = openMemoryStore({ clock });
  for (let start = 0; start < 400; start++) {
    const history = await Counters.start({
      metrics: createMetrics(),
      counts: deliveryCounts(),
      clock,
      config,
    });
    await clock.advance(500);
    await history.close();
  }
  const history = await Counters.start({ metrics: createMetrics(), counts: deliveryCounts(), clock, config });
  const spans = ["5m", "1h", "24h"] as const;
  expect(spans.map((span) => history.rates(span).points.length)).toEqual([150, 180, 288]);
  await history.close();
});

test("nothing is stored while nothing happens, and a failing store does no harm", async () => {
  const clock = manualClock();
  const { metrics, counts, ingested } = collectorCounters();
  let writes = 0;
  const history = await Counters.start({
    metrics,
    counts,
    clock,
    config: {
      ...keptNowhere,
      async put() {
        writes += 1;
        throw new StorageUnavailable("the disk is full");
      },
    },
  });
  await clock.advance(600_000);
  expect(writes).toBe(0);
  ingested.inc(["accepted"]);
  await clock.advance(120_000);
  expect(writes).toBe(1);
  await history.close();
  expect(writes).toBe(2);
});

test.each([
  ["89 s", [89], [89_000, 89_000], [89_000, 89_000]],
  ["a bit more than ten minutes", [610, 612, 615], [600_000, 615_000], [600_000, 615_000]],
  ["some seconds and an hour", [1, 1, 1, 3_500], [0, 1_000], [2_700_000, 3_500_000]],
  ["a second and eight days", [1, 8 * 86_400], [0, 1_000], [604_800_000, 691_200_000]],
  ["eight days", [8 * 86_400], [691_200_000, 691_200_000], [691_200_000, 691_200_000]],
])("latencies of %s are neither cut off nor beyond the longest one", async (_what, seconds, p50, p99) => {
  const clock = manualClock();
  const { metrics, counts, latency } = collectorCounters();
  const history = await Counters.start({ metrics, counts, clock, config: keptNowhere });
  for (const one of seconds) latency.observe(one);
  await clock.advance(20_000);
  latency.observe(0.1);
  await clock.advance(2_000);
  const [first] = history.rates("5m").points;
  const last = history.rates("5m").points.at(-1);
  await history.close();
  const { latencyP50Ms = -1, latencyP99Ms = -1 } = first ?? {};
  expect(latencyP50Ms).toBeGreaterThanOrEqual(p50[0] as number);
  expect(latencyP50Ms).toBeLessThanOrEqual(p50[1] as number);
  expect(latencyP99Ms).toBeGreaterThanOrEqual(p99[0] as number);
  expect(latencyP99Ms).toBeLessThanOrEqual(p99[1] as number);
  const longest = { latencyMaxMs: Math.max(...seconds) * 1_000 };
  expect([first, history.rates("1h").points[0]]).toMatchObject([longest, longest]);
  expect(last).toMatchObject({ latencyP50Ms: 100, latencyP99Ms: 100, latencyMaxMs: 100 });
});
