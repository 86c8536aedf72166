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
