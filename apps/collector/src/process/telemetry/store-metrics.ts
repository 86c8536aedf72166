import type { Store } from "@sluice/event-log";
import type { Metrics } from "./metrics.js";

/** Registers the metrics of the store. */
export function storeMetrics(store: Pick<Store, "stats">, metrics: Metrics): void {
  metrics.gauge("sluice_store_messages", "Stored messages", () => store.stats().messages);
  // Between checkpoints it is an estimate with a fraction.
  metrics.gauge("sluice_store_bytes", "Size of the store on disk", () => Math.round(store.stats().bytes));
  metrics.gauges(
    "sluice_retention_held_back_bytes",
    "Size of messages beyond the retention limits that are kept because this consumer has not read them yet",
    ["consumer"],
    () => {
      const held = store.stats().retentionHeldBack;
      return held === undefined ? [] : [[[held.consumerId], held.bytes]];
    },
  );
}

export interface Disk {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Registers the metrics of the disk with the data folder. There are no samples while it cannot be read. */
export function diskMetrics(
  metrics: Metrics,
  readDisk: () => Promise<Disk>,
  lowBelowBytes: (totalBytes: number) => number,
): void {
  const sample = (name: string, help: string, of: (disk: Disk) => number): void =>
    metrics.gauges(name, help, [], async () => {
      const disk = await readDisk().catch(() => undefined);
      return disk === undefined ? [] : [[[], of(disk)]];
    });
  sample("sluice_disk_free_bytes", "Free space of the disk with the data folder", (it) => it.freeBytes);
  sample("sluice_disk_size_bytes", "Size of the disk with the data folder", (it) => it.totalBytes);
  sample("sluice_disk_low_threshold_bytes", "Free space below which the disk counts as nearly full", (it) =>
    Math.round(lowBelowBytes(it.totalBytes)),
  );
}

/** Registers a metric that is always 1 and has the versions as labels. */
export function buildMetric(metrics: Metrics, version: string): void {
  metrics.gauges(
    "sluice_build_info",
    "1, with the versions of collector and Node.js",
    ["version", "node"],
    () => [[[version, process.version], 1]],
  );
}
