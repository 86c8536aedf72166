import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, expect, test } from "vitest";
import { type Collector, startCollector } from "../../src/collector.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import { storeMetrics } from "../../src/process/telemetry/store-metrics.js";

let collector: Collector | undefined;
const dataDirectories: string[] = [];
afterEach(async () => {
  await collector?.close(1_000);
  for (const directory of dataDirectories.splice(0)) await rm(directory, { recursive: true, force: true });
});

test("names a consumer for as long as it blocks retention", async () => {
  const metrics = createMetrics();
  let stats: ReturnType<Collector["store"]["stats"]> = { messages: 7, bytes: 4_096 };
  storeMetrics({ stats: () => stats }, metrics);
  expect(await metrics.render()).toContain("\nsluice_store_messages 7\n");
  expect(await metrics.render()).toContain("\nsluice_store_bytes 4096\n");
  expect(await metrics.render()).not.toContain("sluice_retention_held_back_bytes{");
  stats = { ...stats, retentionHeldBack: { consumerId: "dst_slow", bytes: 123 } };
  expect(await metrics.render()).toContain('\nsluice_retention_held_back_bytes{consumer="dst_slow"} 123\n');
});

test("a collector reports the size of its store", async () => {
  const dataDirectory = await mkdtemp(join(tmpdir(), "sluice-store-metrics-"));
  dataDirectories.push(dataDirectory);
  collector = await startCollector({
    mode: "dev",
    host: "127.0.0.1",
    port: 0,
    dataDirectory,
    logger: createLogger({ level: "error", write: () => {} }),
    clock: manualClock(),
  });
  const text = await (await fetch(`${collector.url}/metrics`)).text();
  expect(text).toMatch(/^sluice_store_messages 0$/m);
  expect(text).toMatch(/^sluice_store_bytes [1-9]\d*$/m);
});
