import type { Store } from "@sluice/event-log";
import type { Metrics } from "./metrics.js";

/** What is stored, and for whom retention keeps more than it was told to. */
export function storeMetrics(store: Pick<Store, "stats">, metrics: Metrics): void {
  metrics.gauge("sluice_store_messages", "Messages that are kept", () => store.stats().messages);
  // An estimate between checkpoints, with a fraction.
  metrics.gauge("sluice_store_bytes", "What the store takes on disk", () => Math.round(store.stats().bytes));
  metrics.gauges(
    "sluice_retention_held_back_bytes",
    "Messages beyond the limits of retention that are kept because this consumer has not come past them",
    ["consumer"],
    () => {
      const held = store.stats().retentionHeldBack;
      return held === undefined ? [] : [[[held.consumerId], held.bytes]];
    },
  );
}
