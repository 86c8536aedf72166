import { openMemoryStore, StorageUnavailable } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import { Counters, MOST_DESTINATIONS } from "../../src/history/counters.js";
import { deliveryCounts } from "../../src/process/telemetry/delivery-counts.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

function world() {
  const clock = manualClock();
  const { config } = openMemoryStore({ clock });
  const start = async () => {
    const counts = deliveryCounts();
    return { counts, rates: await Counters.start({ metrics: createMetrics(), counts, clock, config }) };
  };
  return { clock, config, start, create: (id: string) => config.put("destination", id, { name: id }) };
}

test("a point counts what one destination received, with its own latencies", async () => {
  const { clock, start, create } = world();
  await create("d1");
  await create("d2");
  const { counts, rates } = await start();
  for (let one = 0; one < 100; one++) counts.delivered("d1", one < 98 ? 0.02 : 0.4);
  counts.failed("d1");
  counts.retried("d1");
  counts.delivered("d2", 100);
  await clock.advance(4_000);
  const { everyMs, kept, points } = rates.destinationRates("d1", "5m");
  expect({ everyMs, kept, count: points.length }).toEqual({ everyMs: 2_000, kept: true, count: 2 });
  expect(points[0]).toMatchObject({
    at: "2026-01-01T00:00:02.000Z",
    ...{ overMs: 2_000, delivered: 100, failed: 1, retried: 1 },
  });
  expect(points[0]?.latencyP50Ms).toBeGreaterThan(10);
  expect(points[0]?.latencyP50Ms).toBeLessThan(25);
  expect(points[0]?.latencyP99Ms).toBeGreaterThan(250);
  expect(points[1]).toMatchObject({ delivered: 0 });
  expect(points[1]).not.toHaveProperty("latencyP50Ms");
  const other = rates.destinationRates("d2", "5m").points[0];
  expect(other).toMatchObject({ delivered: 1, failed: 0 });
  expect(other?.latencyP50Ms).toBe(other?.latencyP99Ms);
  await rates.close();
  expect(clock.pending).toBe(0);
});

test("a latency beyond the largest bucket is reported as it was", async () => {
  const { clock, start, create } = world();
  await create("d1");
  const { counts, rates } = await start();
  counts.delivered("d1", 8 * 86_400);
  await clock.advance(2_000);
  expect(rates.destinationRates("d1", "5m").points).toMatchObject([
    { latencyP50Ms: 691_200_000, latencyP99Ms: 691_200_000, latencyMaxMs: 691_200_000 },
  ]);
  await rates.close();
});

test("a destination that is created later has points from then on, and a deleted one has none", async () => {
  const { clock, config, start, create } = world();
  const { counts, rates } = await start();
  expect(rates.destinationRates("d1", "5m")).toEqual({ everyMs: 2_000, kept: false, points: [] });
  await create("d1");
  await clock.advance(2_000);
  counts.delivered("d1", 1);
  await clock.advance(62_000);
  expect(rates.destinationRates("d1", "5m").points.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(
    1,
  );
  expect(await config.list("counters")).toHaveLength(1);
  await config.delete("destination", "d1");
  await clock.advance(120_000);
  expect(rates.destinationRates("d1", "5m")).toMatchObject({ kept: false, points: [] });
  await rates.close();
  expect((await config.list("counters")).map(({ id }) => id)).toEqual(["collector"]);
});

test("stored points survive a restart, and a kill loses at most a minute", async () => {
  const { clock, start, create } = world();
  await create("d1");
  const delivered = ({ rates }: Awaited<ReturnType<typeof start>>) =>
    rates
      .destinationRates("d1", "24h")
      .points.flatMap((point) => (point.delivered === 0 ? [] : [point.delivered]));
  const closed = await start();
  closed.counts.delivered("d1", 1);
  await clock.advance(20_000);
  await closed.rates.close();
  const killed = await start();
  expect(delivered(killed)).toEqual([1]);
  killed.counts.delivered("d1", 1);
  killed.counts.delivered("d1", 1);
  await clock.advance(60_000);
  killed.counts.delivered("d1", 1);
  await clock.advance(20_000);
  const again = await start();
  expect(delivered(again)).toEqual([1, 2]);
  await again.rates.close();
});

test("only the oldest destinations have a history, and the next one gets the place of a deleted one", async () => {
  const { clock, config, start, create } = world();
  const idOf = (number: number) => `d${String(number).padStart(3, "0")}`;
  for (let number = 0; number <= MOST_DESTINATIONS; number++) await create(idOf(number));
  const last = idOf(MOST_DESTINATIONS);
  const { rates } = await start();
  await clock.advance(2_000);
  expect(rates.destinationRates(idOf(0), "5m")).toMatchObject({ kept: true, points: [{ delivered: 0 }] });
  expect(rates.destinationRates(last, "5m")).toMatchObject({ kept: false, points: [] });
  await config.delete("destination", idOf(0));
  await clock.advance(2_000);
  expect(rates.destinationRates(last, "5m")).toMatchObject({ kept: true });
  await rates.close();
});

test("destinations are stored one at a time, not while nothing happens, and a failing store does no harm", async () => {
  const { clock, config, create } = world();
  await create("d1");
  await create("d2");
  const written: string[] = [];
  const counts = deliveryCounts();
  const rates = await Counters.start({
    metrics: createMetrics(),
    counts,
    clock,
    config: {
      ...config,
      async put(_kind, id) {
        written.push(id);
        throw new StorageUnavailable("the disk is full");
      },
    },
  });
  await clock.advance(600_000);
  expect(written).toEqual([]);
  counts.delivered("d1", 1);
  counts.delivered("d2", 1);
  await clock.advance(2_000);
  expect(written).toEqual(["d1"]);
  await clock.advance(120_000);
  expect(written).toEqual(["d1", "d2"]);
  await rates.close();
});
