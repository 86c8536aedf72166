import { type ConfigStore, openMemoryStore } from "@sluice/event-log";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { Counters } from "../../src/history/counters.js";
import { deliveryCounts } from "../../src/process/telemetry/delivery-counts.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

async function world({
  clock = manualClock(),
  config = openMemoryStore({ clock }).config,
}: {
  clock?: ManualClock;
  config?: ConfigStore;
} = {}) {
  const metrics = createMetrics();
  const counts = deliveryCounts();
  await config.put("destination", "dst_1", { name: "One" });
  const messages = metrics.counter("sluice_source_messages_total", "x", ["source"]);
  const refused = metrics.counter("sluice_ingest_refused_requests_total", "x", ["code"]);
  messages.inc(["src_1"], 5);
  const counters = await Counters.start({ metrics, counts, clock, config });
  return { clock, config, counts, messages, refused, counters };
}

it("counts by source, destination and refusal, and knows when something was last", async () => {
  const { clock, counts, messages, refused, counters } = await world();
  messages.inc(["src_1"], 3);
  messages.inc(["src_new"], 2);
  refused.inc(["rate_limited"], 4);
  for (let one = 0; one < 2; one++) counts.delivered("dst_1", 1);
  counts.failed("dst_1");
  const now = await counters.lastHour();
  const lastMs = clock.now();
  expect(now.source("src_1")).toEqual({ counts: { accepted: 3 }, lastMs });
  expect(now.source("src_new")).toEqual({ counts: { accepted: 2 }, lastMs });
  expect(now.source("src_2")).toEqual({ counts: { accepted: 0 }, lastMs: undefined });
  expect(now.destination("dst_1")).toEqual({ counts: { delivered: 2, failed: 1, retried: 0 }, lastMs });
  expect(now.refused).toEqual([{ code: "rate_limited", counts: { requests: 4 }, lastMs }]);
  await counters.close();
});

it("goes back an hour, and no further", async () => {
  const { clock, messages, counters } = await world();
  messages.inc(["src_1"], 3);
  await clock.advance(1_800_000);
  messages.inc(["src_1"], 4);
  expect(await counters.lastHour()).toMatchObject({ overMs: 1_800_000 });
  expect((await counters.lastHour()).source("src_1").counts).toEqual({ accepted: 7 });
  await clock.advance(1_900_000);
  const now = await counters.lastHour();
  expect(now.overMs).toBe(3_600_000);
  expect(now.source("src_1").counts).toEqual({ accepted: 4 });
  await counters.close();
});

it("goes on after a restart with everything that was counted in the hour, and knows when it was last", async () => {
  const { clock, config, counts, messages, counters } = await world();
  await config.put("source", "src_1", { name: "One" });
  messages.inc(["src_1"], 3);
  messages.inc(["src_gone"], 1);
  counts.delivered("dst_1", 1);
  await clock.advance(2_000);
  const lastMs = clock.now();
  await clock.advance(600_000);
  await counters.close();
  await clock.advance(1_200_000);
  const second = await world({ clock, config });
  second.messages.inc(["src_1"], 4);
  const now = await second.counters.lastHour();
  expect(now.overMs).toBe(1_802_000);
  expect(now.source("src_1")).toEqual({ counts: { accepted: 7 }, lastMs: clock.now() });
  expect(now.source("src_gone")).toEqual({ counts: { accepted: 0 }, lastMs: undefined });
  expect(now.destination("dst_1")).toEqual({ counts: { delivered: 1, failed: 0, retried: 0 }, lastMs });
  await clock.advance(3_000_000);
  expect((await second.counters.lastHour()).source("src_1").counts).toEqual({ accepted: 4 });
  expect((await second.counters.lastHour()).destination("dst_1")).toMatchObject({ lastMs });
  await second.counters.close();
});

it("knows after a restart what was refused in the hour before, also after a kill", async () => {
  const { clock, config, refused, counters } = await world();
  refused.inc(["invalid_write_key"], 19);
  await clock.advance(130_000);
  const lastMs = clock.now();
  const killed = await world({ clock, config });
  const [before] = (await killed.counters.lastHour()).refused;
  expect(before).toMatchObject({ code: "invalid_write_key", counts: { requests: 19 } });
  expect(lastMs - (before?.lastMs ?? 0)).toBe(128_000);
  await counters.close();
  killed.refused.inc(["invalid_write_key"], 2);
  killed.refused.inc(["payload_too_large"]);
  await clock.advance(1_000);
  await killed.counters.close();
  const { counters: third } = await world({ clock, config });
  expect((await third.lastHour()).refused).toMatchObject([
    { code: "invalid_write_key", counts: { requests: 21 } },
    { code: "payload_too_large", counts: { requests: 1 } },
  ]);
  await clock.advance(3_700_000);
  expect((await third.lastHour()).refused).toEqual([]);
  await third.close();
});
