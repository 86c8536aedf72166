import type { RatePointView, RateSpan, RatesView } from "@sluice/control-api";
import type { ConfigStore } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { CancelTimer, Clock } from "@sluice/resilience";
import type { Metrics, Sample } from "./metrics.js";

/** Resolution and length of each span: 618 points in total. */
export const RATE_SPANS: Readonly<Record<RateSpan, { readonly everyMs: number; readonly points: number }>> = {
  "5m": { everyMs: 2_000, points: 150 },
  "1h": { everyMs: 20_000, points: 180 },
  "24h": { everyMs: 300_000, points: 288 },
};
/** Interval at which the counters are read: the resolution of the finest span. */
const READ_EVERY_MS = RATE_SPANS["5m"].everyMs;
/** Interval at which they are stored while anything happens, as one document of at most 100 KB. A kill loses at most this much. */
const STORE_EVERY_MS = 60_000;
const KIND = "rates";
const ID = "collector";

/** The collector's rates over the last minutes, hour and day. */
export interface RateHistory {
  read(span: RateSpan): RatesView;
  /** Resolves when the history is stored for the next start. */
  close(): Promise<void>;
}

type KeptPoints = { readonly [span in RateSpan]: readonly RatePointView[] };

/** Continues the stored history, and reads the counters now and regularly until it is closed. */
export async function startRateHistory(
  metrics: Pick<Metrics, "read">,
  clock: Clock,
  config: Pick<ConfigStore, "get" | "put">,
): Promise<RateHistory> {
  const kept = (await config.get<KeptPoints>(KIND, ID))?.value;
  const first = await readCounters(metrics, clock);
  const begin = (span: RateSpan): Series => newSeries(first, RATE_SPANS[span], kept?.[span] ?? []);
  const series = { "5m": begin("5m"), "1h": begin("1h"), "24h": begin("24h") };
  let stored = first;
  let writing: Promise<void> = Promise.resolve();
  const store = async (counters: Counters): Promise<void> => {
    const points: KeptPoints = {
      "5m": series["5m"].pointsWith(counters),
      "1h": series["1h"].pointsWith(counters),
      "24h": series["24h"].pointsWith(counters),
    };
    // Others report that the store cannot be written. The next write includes these points.
    await config.put(KIND, ID, points).catch(() => {});
  };
  let reading: Promise<void> = Promise.resolve();
  const take = (counters: Counters): void => {
    for (const one of Object.values(series)) one.take(counters);
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
    read: (span) => ({ everyMs: RATE_SPANS[span].everyMs, points: series[span].points() }),
    async close() {
      cancel();
      await reading;
      await writing;
      await store(await readCounters(metrics, clock));
    },
  };
}

/** Whether nothing happened between two readings. */
function isSilent(before: Counters, after: Counters): boolean {
  return (["accepted", "rejected", "delivered", "failed", "retried"] as const).every(
    (count) => before[count] === after[count],
  );
}

/** One reading of the counters, which count since the collector's start. */
export interface Counters {
  /** Wall-clock time, for display. */
  readonly atMs: number;
  /** Monotonic time, for durations. */
  readonly monotonicMs: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly delivered: number;
  readonly failed: number;
  readonly retried: number;
  /** Cumulative histogram of the time from receipt to delivery, by ascending bound; the last is +Infinity. */
  readonly latency: readonly (readonly [upToSeconds: number, count: number])[];
}

interface Series {
  take(counters: Counters): void;
  points(): readonly RatePointView[];
  /** Also includes the current point, which is not closed yet. */
  pointsWith(counters: Counters): readonly RatePointView[];
}

/** The first reading after its due time closes a point, so a late reading makes a longer point, not a gap. */
function newSeries(
  first: Counters,
  { everyMs, points: most }: { readonly everyMs: number; readonly points: number },
  kept: readonly RatePointView[],
): Series {
  // If the clock was set back, some stored points may be in the future. After many starts there may be many short ones.
  const closed = kept
    .map((point) => ({ point, closedMs: first.monotonicMs + Date.parse(point.at) - first.atMs }))
    .filter(({ closedMs }) => closedMs > first.monotonicMs - everyMs * most && closedMs <= first.monotonicMs)
    .slice(-most);
  const points = (): RatePointView[] => closed.map(({ point }) => point);
  let last = first;
  return {
    take(counters) {
      const { monotonicMs } = counters;
      if (monotonicMs - last.monotonicMs < everyMs) return;
      closed.push({ point: ratePoint(last, counters), closedMs: monotonicMs });
      while (
        closed[0] !== undefined &&
        (closed.length > most || closed[0].closedMs <= monotonicMs - everyMs * most)
      )
        closed.shift();
      last = counters;
    },
    points,
    pointsWith: (counters) =>
      counters.monotonicMs > last.monotonicMs ? [...points(), ratePoint(last, counters)] : points(),
  };
}

/** The rates between two readings. */
export function ratePoint(before: Counters, after: Counters): RatePointView {
  const p50Ms = latencyQuantileMs(before, after, 0.5);
  const p99Ms = latencyQuantileMs(before, after, 0.99);
  return {
    at: formatTime(after.atMs),
    overMs: after.monotonicMs - before.monotonicMs,
    accepted: after.accepted - before.accepted,
    rejected: after.rejected - before.rejected,
    delivered: after.delivered - before.delivered,
    failed: after.failed - before.failed,
    retried: after.retried - before.retried,
    ...(p50Ms === undefined ? {} : { latencyP50Ms: p50Ms }),
    ...(p99Ms === undefined ? {} : { latencyP99Ms: p99Ms }),
  };
}

/** The quantile `share` of the latencies between two readings, interpolated in its bucket; undefined if there were none. */
function latencyQuantileMs(before: Counters, after: Counters, share: number): number | undefined {
  const growth = after.latency.map(
    ([bound, count], index) => [bound, count - (before.latency[index]?.[1] ?? 0)] as const,
  );
  const total = growth.at(-1)?.[1] ?? 0;
  if (total <= 0) return undefined;
  const wanted = share * total;
  let [lowerBound, lowerCount] = [0, 0];
  for (const [bound, count] of growth) {
    if (count >= wanted) {
      // The value is above the greatest bound, which is all that is known.
      if (bound === Number.POSITIVE_INFINITY) return lowerBound * 1_000;
      const within = count === lowerCount ? 1 : (wanted - lowerCount) / (count - lowerCount);
      return (lowerBound + (bound - lowerBound) * within) * 1_000;
    }
    [lowerBound, lowerCount] = [bound, count];
  }
  return lowerBound * 1_000;
}

async function readCounters(metrics: Pick<Metrics, "read">, clock: Clock): Promise<Counters> {
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
    accepted: sum(messages, "result", "accepted"),
    rejected: sum(messages, "result", "rejected"),
    delivered: sum(deliveries, "state", "delivered"),
    failed: sum(deliveries, "state", "failed"),
    retried: retries.reduce((total, { value }) => total + value, 0),
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
