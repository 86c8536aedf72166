import { DELIVERY_LATENCY_BUCKETS_SECONDS } from "./metrics.js";
import type { Reading } from "./rate-series.js";

export type DeliveryCountName = "delivered" | "failed" | "retried";
type Latencies = Pick<Reading<never>, "latency" | "maxLatencySeconds">;

/** Counts deliveries by destination since the collector's start, with a histogram of latencies for each and for all. */
export interface DeliveryCounts {
  delivered(destinationId: string, latencySeconds: number): void;
  failed(destinationId: string): void;
  retried(destinationId: string): void;
  /** The longest latency is that since the last call for this destination. */
  read(destinationId: string): Pick<Reading<DeliveryCountName>, "counts"> & Latencies;
  /** Over all destinations. The longest latency is that since the last call. */
  latencies(): Latencies;
  /** Forgets a destination that was deleted. */
  forget(destinationId: string): void;
}

interface Counted {
  delivered: number;
  failed: number;
  retried: number;
  readonly latency: Histogram;
}

interface Histogram {
  /** By bucket, not cumulative. The last one is above the greatest bound. */
  readonly counts: number[];
  maxSeconds: number | undefined;
}

const BOUNDS: readonly number[] = [...DELIVERY_LATENCY_BUCKETS_SECONDS, Number.POSITIVE_INFINITY];

export function deliveryCounts(): DeliveryCounts {
  const byDestination = new Map<string, Counted>();
  const all = newHistogram();
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
      counted.delivered += 1;
      const bucket = BOUNDS.findIndex((bound) => latencySeconds <= bound);
      for (const histogram of [counted.latency, all]) {
        histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1;
        histogram.maxSeconds = Math.max(histogram.maxSeconds ?? 0, latencySeconds);
      }
    },
    failed(id) {
      of(id).failed += 1;
    },
    retried(id) {
      of(id).retried += 1;
    },
    read(id) {
      const { delivered, failed, retried, latency } = byDestination.get(id) ?? newCounted();
      return { counts: { delivered, failed, retried }, ...take(latency) };
    },
    latencies: () => take(all),
    forget(id) {
      byDestination.delete(id);
    },
  };
}

function newCounted(): Counted {
  return { delivered: 0, failed: 0, retried: 0, latency: newHistogram() };
}

function newHistogram(): Histogram {
  return { counts: BOUNDS.map(() => 0), maxSeconds: undefined };
}

function take(histogram: Histogram): Latencies {
  let sum = 0;
  const latency = histogram.counts.map((count, bucket) => {
    sum += count;
    return [BOUNDS[bucket] as number, sum] as const;
  });
  const { maxSeconds } = histogram;
  histogram.maxSeconds = undefined;
  return maxSeconds === undefined ? { latency } : { latency, maxLatencySeconds: maxSeconds };
}
