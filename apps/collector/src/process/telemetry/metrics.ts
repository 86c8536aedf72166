import type * as prom from "prom-client";
import {
  collectDefaultMetrics,
  Gauge,
  Counter as PromCounter,
  Histogram as PromHistogram,
  Registry,
} from "./prom-client.js";

/** A value that only grows, one for each combination of label values. */
export interface Counter {
  /**
   * Adds `by` (default 1). `labels` are values, in the order in which the label names were given. Adding 0 shows a series from the
   * start, so that rates see its first increment.
   */
  inc(labels?: readonly string[], by?: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

/** One sample of a metric, as Prometheus reads it: for a histogram the name ends in `_bucket`, `_sum` or `_count`. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly value: number;
}

type Samples = Iterable<readonly [labels: readonly string[], value: number]>;

/** The metrics of one collector. A name can be registered once. */
export interface Metrics {
  counter(name: string, help: string, labels?: readonly string[]): Counter;
  /** `read` is called at each scrape. There is no sample while it returns undefined. */
  gauge(name: string, help: string, read: () => number | undefined): void;
  /** A gauge with labels: `read` returns all of its samples. A scrape waits for it. */
  gauges(name: string, help: string, labels: readonly string[], read: () => Samples | Promise<Samples>): void;
  /** `buckets`: upper bounds, ascending. */
  histogram(name: string, help: string, buckets: readonly number[]): Histogram;
  /** `collect` is called, and waited for, before metrics are read: it adds what other threads have counted. */
  beforeReading(collect: () => Promise<void>): void;
  /** The present samples of a metric; empty for an unknown name. */
  read(name: string): Promise<readonly Sample[]>;
  /** All metrics in Prometheus' text format. */
  render(): Promise<string>;
}

/** Upper bounds in seconds, for latencies between half a millisecond and ten seconds. */
export const LATENCY_BUCKETS_SECONDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** Upper bounds in seconds, up to seven days: as long as a delivery may be retried. From ten seconds on, each is half as much again at most. */
export const DELIVERY_LATENCY_BUCKETS_SECONDS: readonly number[] = [
  ...LATENCY_BUCKETS_SECONDS,
  ...[15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1_200, 1_800, 2_700],
  ...[3_600, 5_400, 7_200, 10_800, 14_400, 21_600, 28_800, 43_200, 64_800, 86_400],
  ...[129_600, 172_800, 259_200, 345_600, 460_800, 604_800],
];

/** Label values come from clients. Beyond this many series a counter adds to one called `other`, so its memory is bounded. */
const MAX_SERIES = 1_000;

export interface MetricsOptions {
  /** Also render prom-client's metrics of the process: CPU, memory, garbage collection, event-loop lag. Default: false. */
  readonly withProcess?: boolean;
}

export function createMetrics({ withProcess = false }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const process = withProcess ? processMetrics() : undefined;
  let collect = async (): Promise<void> => {};
  return {
    counter: (name, help, labelNames = []) => boundedCounter({ name, help, registers }, labelNames),
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          const value = read();
          if (value === undefined) this.remove();
          else this.set(value);
        },
      });
    },
    gauges(name, help, labelNames, read) {
      new Gauge({
        name,
        help,
        labelNames,
        registers,
        async collect() {
          const samples = await read();
          this.reset();
          for (const [labels, value] of samples) this.labels(...labels).set(value);
        },
      });
    },
    histogram: (name, help, buckets) => new PromHistogram({ name, help, buckets: [...buckets], registers }),
    beforeReading(first) {
      collect = first;
    },
    async read(name) {
      await collect();
      const metric = await registry.getSingleMetric(name)?.get();
      const values: readonly prom.MetricValueWithName<string>[] = metric?.values ?? [];
      return values.map(({ metricName, labels, value }) => ({ name: metricName ?? name, labels, value }));
    },
    async render() {
      await collect();
      const own = await registry.metrics();
      return process === undefined ? own : `${own}\n${await process.metrics()}`;
    },
  };
}

/**
 * Counts in a map of its own and hands the sums over at each scrape: prom-client's `inc` takes 0.3 to 0.7 µs, and ingestion and delivery
 * count every message.
 */
function boundedCounter(config: prom.CounterConfiguration<string>, labelNames: readonly string[]): Counter {
  const series = new Map<string, { readonly labels: readonly string[]; count: number }>();
  const addSeries = (labels: readonly string[]) => {
    const kept = series.size < MAX_SERIES ? labels : labelNames.map(() => "other");
    const key = kept.join("\0");
    const added = series.get(key) ?? { labels: kept, count: 0 };
    series.set(key, added);
    return added;
  };
  new PromCounter({
    ...config,
    labelNames: [...labelNames],
    collect() {
      this.reset();
      for (const { labels, count } of series.values()) this.labels(...labels).inc(count);
    },
  });
  // Without labels the only series is known, so that rates see its first increment.
  if (labelNames.length === 0) addSeries([]);
  return {
    inc(labels = [], by = 1) {
      const key = labels.length === 1 ? (labels[0] as string) : labels.join("\0");
      const found = series.get(key) ?? addSeries(labels);
      found.count += by;
    },
  };
}

/** Gauges of prom-client whose names end in `_total`, which only counters may. Others, with a label `type`, show the same. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
] as const;

/** Made once for all collectors of the process: prom-client cannot stop the timer and the observer that feed these metrics. */
let ofProcess: prom.Registry | undefined;

function processMetrics(): prom.Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
    for (const name of MISNAMED) ofProcess.removeSingleMetric(name);
  }
  return ofProcess;
}
