import { DELIVERY_LATENCY_BUCKETS_SECONDS } from "./metrics.js";
import type { Reading } from "./rate-series.js";

export type DeliveryCountName = "delivered" | "failed" | "retried";

/** Counts deliveries by destination since the collector's start, with a histogram of latencies for each. */
export interface DeliveryCounts {
  delivered(destinationId: string, latencySeconds: number): void;
  failed(destinationId: string): void;
  retried(destinationId: string): void;
  read(destinationId: string): Pick<Reading<DeliveryCountName>, "counts" | "latency">;
  /** Forgets a destination that was deleted. */
  forget(destinationId: string): void;
}

interface Counted {
  delivered: number;
  failed: number;
  retried: number;
  /** By bucket, not cumulative. The last one is above the greatest bound. */
  readonly latency: number[];
}

const BOUNDS: readonly number[] = [...DELIVERY_LATENCY_BUCKETS_SECONDS, Number.POSITIVE_INFINITY];

export function deliveryCounts(): DeliveryCounts {
  const byDestination = new Map<string, Counted>();
  const of = (id: string): Counted => {
    const known = byDestination.get(id);
    if (known !== undefined) return known;
    const added = newCounted();
    byDestination.set(id, added);
    return added;
  };
  return {
    delivered(id, latencySeconds) {
      const counted = of(id);
      const bucket = BOUNDS.findIndex((bound) => latencySeconds <= bound);
      counted.delivered += 1;
      counted.latency[bucket] = (counted.latency[bucket] ?? 0) + 1;
    },
    failed(id) {
      of(id).failed += 1;
    },
    retried(id) {
      of(id).retried += 1;
    },
    read(id) {
      const { delivered, failed, retried, latency } = byDestination.get(id) ?? newCounted();
      let sum = 0;
      const cumulative = latency.map((count, bucket) => {
        sum += count;
        return [BOUNDS[bucket] as number, sum] as const;
      });
      return { counts: { delivered, failed, retried }, latency: cumulative };
    },
    forget(id) {
      byDestination.delete(id);
    },
  };
}

function newCounted(): Counted {
  return { delivered: 0, failed: 0, retried: 0, latency: BOUNDS.map(() => 0) };
}
