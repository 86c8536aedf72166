import { expect, test } from "vitest";
import { deliveriesIn, latencyQuantile, type MetricsSample, rate, readMetrics } from "../src/api/metrics.js";

const TEXT = `# HELP sluice_ingest_messages_total Messages by what became of them
# TYPE sluice_ingest_messages_total counter
sluice_ingest_messages_total{result="accepted"} 120
sluice_ingest_messages_total{result="duplicate"} 3
sluice_ingest_messages_total{result="rejected"} 2
sluice_deliveries_total{destination="dst_1",state="delivered"} 100
sluice_deliveries_total{destination="dst_1",state="failed"} 4
sluice_deliveries_total{destination="d\\"2\\\\",state="delivered"} 7
sluice_delivery_retries_total{destination="dst_1"} 5
sluice_delivery_latency_seconds_bucket{le="0.01"} 50
sluice_delivery_latency_seconds_bucket{le="0.1"} 100
sluice_delivery_latency_seconds_bucket{le="+Inf"} 107
sluice_delivery_latency_seconds_sum 3.5
process_resident_memory_bytes 123456
`;

test("the counters are read, whatever else there is", () => {
  const sample = readMetrics(TEXT, 1_000);
  expect(sample).toMatchObject({ atMs: 1_000, accepted: 120, duplicates: 3, rejected: 2, retries: 5 });
  expect(deliveriesIn(sample, "delivered")).toBe(107);
  expect(deliveriesIn(sample, "delivered", "failed")).toBe(111);
  expect(sample.deliveries.get('d"2\\')?.get("delivered")).toBe(7);
  expect(readMetrics("", 0)).toMatchObject({ accepted: 0, latency: [] });
});

function sampleAt(atMs: number, accepted: number, latency: MetricsSample["latency"] = []): MetricsSample {
  return { ...readMetrics("", atMs), accepted, latency };
}

test("a rate is growth by time, and unknown over a restart", () => {
  const read = (sample: MetricsSample) => sample.accepted;
  expect(rate(sampleAt(0, 100), sampleAt(2_000, 150), read)).toBe(25);
  expect(rate(sampleAt(0, 100), sampleAt(2_000, 3), read)).toBeUndefined();
  expect(rate(sampleAt(0, 100), sampleAt(0, 100), read)).toBeUndefined();
});

test("a quantile is of what was delivered between the samples, interpolated in its bucket", () => {
  const before = sampleAt(0, 0, [
    [0.01, 10],
    [0.1, 10],
    [Number.POSITIVE_INFINITY, 10],
  ]);
  const after = sampleAt(2_000, 0, [
    [0.01, 60],
    [0.1, 110],
    [Number.POSITIVE_INFINITY, 110],
  ]);
  expect(latencyQuantile(before, after, 0.5)).toBe(10);
  expect(latencyQuantile(before, after, 0.25)).toBe(5);
  expect(latencyQuantile(before, after, 0.75)).toBeCloseTo(55);
  expect(latencyQuantile(after, after, 0.5)).toBeUndefined();
});
