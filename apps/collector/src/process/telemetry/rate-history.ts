import type { RateSpan, RatesView } from "@sluice/control-api";
import type { ConfigStore } from "@sluice/event-log";
import type { CancelTimer, Clock } from "@sluice/resilience";
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
  clock: Clock,
  config: Pick<ConfigStore, "get" | "put">,
): Promise<RateHistory> {
  const kept = (await config.get<KeptPoints<Counted>>(KIND, ID))?.value;
  const first = await readCounters(metrics, clock);
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
    reading = readCounters(metrics, clock).then(take);
    cancel = clock.after(READ_EVERY_MS, tick);
  };
  let cancel: CancelTimer = clock.after(READ_EVERY_MS, tick);
  return {
    read: (span) => ({ everyMs: RATE_SPANS[span].everyMs, points: [...series.points(span)] }),
    async close() {
      cancel();
      await reading;
      await writing;
      await store(await readCounters(metrics, clock));
    },
  };
}

async function readCounters(metrics: Pick<Metrics, "read">, clock: Clock): Promise<Reading<Counted>> {
  const atMs = clock.now();
  const monotonicMs = clock.monotonic();
  const [messages, deliveries, retries, latency] = await Promise.all([
    metrics.read("sluice_ingest_messages_total"),
    metrics.read("sluice_deliveries_total"),
    metrics.read("sluice_delivery_retries_total"),
    metrics.read("sluice_delivery_latency_seconds"),
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
    latency: latency
      .filter(({ name }) => name.endsWith("_bucket"))
      .map(({ labels, value }) => [
        labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le),
        value,
      ]),
  };
}

/** The sum of the samples whose label has this value. */
function sum(samples: readonly Sample[], label: string, value: string): number {
  return samples.reduce((total, sample) => total + (sample.labels[label] === value ? sample.value : 0), 0);
}
