import type { RatePointView, RateSpan } from "@sluice/control-api";
import { formatTime } from "@sluice/protocol";

interface Span {
  readonly everyMs: number;
  readonly points: number;
}
export type Spans = { readonly [span in RateSpan]?: Span };

/** Resolution and length of each span: 618 points in total. */
export const RATE_SPANS: Readonly<Record<RateSpan, Span>> = {
  "5m": { everyMs: 2_000, points: 150 },
  "1h": { everyMs: 20_000, points: 180 },
  "24h": { everyMs: 300_000, points: 288 },
};

/** One reading of counters, which count since the collector's start. */
export interface Reading<Name extends string> {
  /** Wall-clock time, for display. */
  readonly atMs: number;
  /** Monotonic time, for durations. */
  readonly monotonicMs: number;
  readonly counts: Readonly<Record<Name, number>>;
  /** Cumulative histogram of the time from receipt to delivery, by ascending bound; the last is +Infinity. */
  readonly latency: readonly (readonly [upToSeconds: number, count: number])[];
  /** The longest latency since the reading before. Absent: nothing was delivered. */
  readonly maxLatencySeconds?: number;
}

/** What was counted in an interval. */
export type RatePoint<Name extends string> = Pick<
  RatePointView,
  "at" | "overMs" | "latencyP50Ms" | "latencyP99Ms" | "latencyMaxMs"
> &
  Readonly<Record<Name, number>>;

export type KeptPoints<Name extends string> = { readonly [span in RateSpan]?: readonly RatePoint<Name>[] };

/** The points of all spans of one thing. */
export interface RateSeries<Name extends string> {
  /** Each reading is taken once. */
  take(reading: Reading<Name>): void;
  points(span: RateSpan): readonly RatePoint<Name>[];
  /** What was counted in a span, up to this reading, but not before the first reading. */
  grown(span: RateSpan, reading: Reading<Name>): Readonly<Record<Name, number>>;
  /** What to store, with the reading that was taken last: also includes the current points, which are not closed yet. */
  toKeep(reading: Reading<Name>): KeptPoints<Name>;
}

/** Continues the points that were kept. */
export function rateSeries<Name extends string>(
  first: Reading<Name>,
  kept: KeptPoints<Name> | undefined,
  lengths: Spans = RATE_SPANS,
): RateSeries<Name> {
  const spans = new Map<RateSpan, SpanSeries<Name>>();
  for (const [span, length] of Object.entries(lengths) as [RateSpan, Span][])
    spans.set(span, spanSeries(first, length, kept?.[span] ?? []));
  return {
    take(reading) {
      for (const one of spans.values()) one.take(reading);
    },
    points: (span) => spans.get(span)?.points() ?? [],
    grown: (span, reading) => spans.get(span)?.grown(reading) ?? reading.counts,
    toKeep: (reading) =>
      Object.fromEntries(Array.from(spans, ([span, one]) => [span, one.pointsWith(reading)])),
  };
}

/** Whether nothing was counted between two readings. */
export function isSilent<Name extends string>(before: Reading<Name>, after: Reading<Name>): boolean {
  return (Object.keys(after.counts) as Name[]).every((name) => before.counts[name] === after.counts[name]);
}

interface SpanSeries<Name extends string> {
  take(reading: Reading<Name>): void;
  points(): readonly RatePoint<Name>[];
  /** Also includes the current point, which is not closed yet. */
  pointsWith(reading: Reading<Name>): readonly RatePoint<Name>[];
  grown(reading: Reading<Name>): Readonly<Record<Name, number>>;
}

/** The first reading after its due time closes a point, so a late reading makes a longer point, not a gap. */
function spanSeries<Name extends string>(
  first: Reading<Name>,
  { everyMs, points: most }: { readonly everyMs: number; readonly points: number },
  kept: readonly RatePoint<Name>[],
): SpanSeries<Name> {
  // If the clock was set back, some stored points may be in the future. After many starts there may be many short ones.
  const closed = kept
    .map((point) => ({
      point,
      closedMs: first.monotonicMs + Date.parse(point.at) - first.atMs,
    }))
    .filter(({ closedMs }) => closedMs > first.monotonicMs - everyMs * most && closedMs <= first.monotonicMs)
    .slice(-most);
  const points = (): RatePoint<Name>[] => closed.map(({ point }) => point);
  let last = first;
  /** Of the current point. */
  let maxSeconds = 0;
  return {
    take(reading) {
      const { monotonicMs } = reading;
      maxSeconds = Math.max(maxSeconds, reading.maxLatencySeconds ?? 0);
      if (monotonicMs - last.monotonicMs < everyMs) return;
      closed.push({ point: ratePoint(last, reading, maxSeconds), closedMs: monotonicMs });
      while (
        closed[0] !== undefined &&
        (closed.length > most || closed[0].closedMs <= monotonicMs - everyMs * most)
      )
        closed.shift();
      last = reading;
      maxSeconds = 0;
    },
    points,
    grown(reading) {
      const counts = { ...growth(last, reading) };
      for (const { point, closedMs } of closed)
        if (closedMs > first.monotonicMs)
          for (const name of Object.keys(counts) as Name[]) counts[name] += point[name];
      return counts;
    },
    pointsWith: (reading) =>
      reading.monotonicMs > last.monotonicMs ? [...points(), ratePoint(last, reading, maxSeconds)] : points(),
  };
}

function growth<Name extends string>(before: Reading<Name>, after: Reading<Name>): Record<Name, number> {
  const names = Object.keys(after.counts) as Name[];
  const grown = names.map((name) => [name, after.counts[name] - before.counts[name]] as const);
  return Object.fromEntries(grown) as Record<Name, number>;
}

/** The rates between two readings. `maxSeconds`: the longest latency between them. */
export function ratePoint<Name extends string>(
  before: Reading<Name>,
  after: Reading<Name>,
  maxSeconds: number,
): RatePoint<Name> {
  const p50 = latencyQuantile(before, after, maxSeconds, 0.5);
  const p99 = latencyQuantile(before, after, maxSeconds, 0.99);
  return {
    at: formatTime(after.atMs),
    overMs: after.monotonicMs - before.monotonicMs,
    ...growth(before, after),
    ...(p50 === undefined || p99 === undefined
      ? {}
      : { latencyP50Ms: p50, latencyP99Ms: p99, latencyMaxMs: maxSeconds * 1_000 }),
  };
}

/**
 * The quantile `share` of the latencies between two readings in milliseconds, interpolated in its bucket but not beyond the longest
 * one; undefined if there were none. It is the latency of one delivery (nearest rank), so that with a single delivery all are the same.
 */
function latencyQuantile(
  before: Pick<Reading<never>, "latency">,
  after: Pick<Reading<never>, "latency">,
  maxSeconds: number,
  share: number,
): number | undefined {
  const growth = after.latency.map(
    ([bound, count], index) => [bound, count - (before.latency[index]?.[1] ?? 0)] as const,
  );
  const total = growth.at(-1)?.[1] ?? 0;
  if (total <= 0) return undefined;
  if (total === 1) return maxSeconds * 1_000;
  const rank = Math.max(1, Math.ceil(share * total));
  let [lowerBound, lowerCount] = [0, 0];
  for (const [bound, count] of growth) {
    if (count >= rank) {
      const within = (rank - 0.5 - lowerCount) / (count - lowerCount);
      return (lowerBound + (Math.min(bound, maxSeconds) - lowerBound) * within) * 1_000;
    }
    [lowerBound, lowerCount] = [bound, count];
  }
  return maxSeconds * 1_000;
}
