import { openMemoryStore } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { Counters } from "../../src/history/counters.js";
import { deliveryCounts } from "../../src/process/telemetry/delivery-counts.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

async function world() {
  const clock = manualClock();
  const metrics = createMetrics();
  const counts = deliveryCounts();
  const { config } = openMemoryStore({ clock });
  await config.put("destination", "dst_1", { name: "One" });
  const messages = metrics.counter("sluice_source_messages_total", "x", ["source"]);
  const refused = metrics.counter("sluice_ingest_refused_requests_total", "x", ["code"]);
  messages.inc(["src_1"], 5);
  const counters = await Counters.start({ metrics, counts, clock, config });
  return { clock, counts, messages, refused, counters };
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
