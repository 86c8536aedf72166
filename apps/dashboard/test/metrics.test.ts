import { expect, test } from "vitest";
import { deliveriesIn, readTotals } from "../src/api/metrics.js";

const TEXT = `# HELP sluice_ingest_messages_total Messages by what became of them
# TYPE sluice_ingest_messages_total counter
sluice_ingest_messages_total{result="accepted"} 120
sluice_ingest_messages_total{result="duplicate"} 3
sluice_ingest_messages_total{result="rejected"} 2
sluice_deliveries_total{destination="dst_1",state="delivered"} 100
sluice_deliveries_total{destination="dst_1",state="failed"} 4
sluice_deliveries_total{destination="d\\"2\\\\",state="delivered"} 7
sluice_delivery_latency_seconds_sum 3.5
process_resident_memory_bytes 123456
`;

test("reads the counters and ignores everything else", () => {
  const totals = readTotals(TEXT);
  expect(totals).toMatchObject({ accepted: 120, duplicates: 3, rejected: 2 });
  expect(deliveriesIn(totals, "delivered")).toBe(107);
  expect(deliveriesIn(totals, "delivered", "failed")).toBe(111);
  expect(totals.deliveries.get('d"2\\')?.get("delivered")).toBe(7);
  expect(readTotals("")).toMatchObject({ accepted: 0 });
});
