import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { keptSnapshots, startActivity } from "../../src/process/telemetry/activity.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

it("counts the last hour by source and destination, and knows when something was last", async () => {
  const clock = manualClock({ startMs: 1_000_000 });
  const metrics = createMetrics();
  const messages = metrics.counter("sluice_source_messages_total", "x", ["source"]);
  const deliveries = metrics.counter("sluice_deliveries_total", "x", ["destination", "state"]);
  messages.inc(["src_1"], 5);
  const activity = await startActivity(metrics, clock);
  messages.inc(["src_1"], 3);
  deliveries.inc(["dst_1", "delivered"], 2);
  deliveries.inc(["dst_1", "failed"]);
  metrics.counter("sluice_delivery_retries_total", "x", ["destination"]).inc(["dst_1"], 3);
  const now = await activity.read();
  expect(now.source("src_1")).toEqual({ accepted: 3, lastMs: 1_000_000 });
  expect(now.source("src_2")).toEqual({ accepted: 0, lastMs: undefined });
  expect(now.destination("dst_1")).toEqual({ delivered: 2, failed: 1, retried: 3, lastMs: 1_000_000 });
  await activity.close();
});

it("keeps a snapshot a minute for an hour", () => {
  let kept: readonly { readonly monotonicMs: number }[] = [];
  for (let second = 0; second <= 7_200; second += 5)
    kept = keptSnapshots(kept, { monotonicMs: second * 1_000 });
  expect(kept).toHaveLength(61);
  expect(kept[0]?.monotonicMs).toBe(3_600_000);
});
