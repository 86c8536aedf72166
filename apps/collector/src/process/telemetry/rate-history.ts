import type { RateSpan, RatesView } from "@sluice/control-api";
import type { ConfigStore } from "@sluice/event-log";
import type { CancelTimer, Clock } from "@sluice/resilience";
import type { DeliveryCounts } from "./delivery-counts.js";
import type { Metrics, Sample } from "./metrics.js";
import { isSilent, type KeptPoints, RATE_SPANS, type Reading, rateSeries } from "./rate-series.js";

/** Interval at which the counters are read: the resolution of the finest span. */
const READ_EVERY_MS = RATE_SPANS["5m"].everyMs;
/** Interval at which they are stored while anything happens, as one document of at most 100 KB. A kill loses at most this much. */
const STORE_EVERY_MS = 60_000;
const KIND = "rates";
const ID = "collector";

type Counted = "accepted" | "rejected" | "delivered" | "failed" | "retried";

/** The collector's rates over the last minutes, hour and day. */
export interface RateHistory {
  read(span: RateSpan): RatesView;
  /** Resolves when the history is stored for the next start. */
  close(): Promise<void>;
}

/** Continues the stored history, and reads the counters now and regularly until it is closed. */
export async function startRateHistory(
  metrics: Pick<Metrics, "read">,
  deliveries: Pick<DeliveryCounts, "latencies">,
  clock: Clock,
  config: Pick<ConfigStore, "get" | "put">,
): Promise<RateHistory> {
  const kept = (await config.get<KeptPoints<Counted>>(KIND, ID))?.value;
  const read = async (): Promise<Reading<Counted>> => {
    const latencies = deliveries.latencies();
    return { ...(await readCounters(metrics, clock)), ...latencies };
  };
  const first = await read();
  const series = rateSeries(first, kept);
  let stored = first;
  let writing: Promise<void> = Promise.resolve();
  const store = async (counters: Reading<Counted>): Promise<void> => {
    // Others report that the store cannot be written. The next write includes these points.
    await config.put(KIND, ID, series.toKeep(counters)).catch(() => {});
  };
  let reading: Promise<void> = Promise.resolve();
  const take = (counters: Reading<Counted>): void => {
    series.take(counters);
    if (counters.monotonicMs - stored.monotonicMs >= STORE_EVERY_MS && !isSilent(stored, counters)) {
      stored = counters;
      writing = store(counters);
    }
  };
  const tick = (): void => {
    reading = read().then(take);
    cancel = clock.after(READ_EVERY_MS, tick);
  };
  let cancel: CancelTimer = clock.after(READ_EVERY_MS, tick);
  return {
    read: (span) => ({ everyMs: RATE_SPANS[span].everyMs, points: [...series.points(span)] }),
    async close() {
      cancel();
      await reading;
      await writing;
      const last = await read();
      series.take(last);
      await store(last);
    },
  };
}

async function readCounters(
  metrics: Pick<Metrics, "read">,
  clock: Clock,
): Promise<Omit<Reading<Counted>, "latency">> {
  const atMs = clock.now();
  const monotonicMs = clock.monotonic();
  const [messages, deliveries, retries] = await Promise.all([
    metrics.read("sluice_ingest_messages_total"),
    metrics.read("sluice_deliveries_total"),
    metrics.read("sluice_delivery_retries_total"),
  ]);
  return {
    atMs,
    monotonicMs,
    counts: {
      accepted: sum(messages, "result", "accepted"),
      rejected: sum(messages, "result", "rejected"),
      delivered: sum(deliveries, "state", "delivered"),
      failed: sum(deliveries, "state", "failed"),
      retried: retries.reduce((total, { value }) => total + value, 0),
    },
  };
}

/** The sum of the samples whose label has this value. */
function sum(samples: readonly Sample[], label: string, value: string): number {
  return samples.reduce((total, sample) => total + (sample.labels[label] === value ? sample.value : 0), 0);
}
