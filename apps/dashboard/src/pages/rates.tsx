import type { RatePointView, RateSpan } from "@sluice/control-api";
import { useShownTheme } from "../theme/theme.js";
import { Segments } from "../ui/controls/button.js";
import { Chart } from "../ui/data/chart/chart.js";
import { newestIndex, type Series, valueText } from "../ui/data/chart/series.js";
import { count, counted, duration, perSecond } from "../words/numbers.js";

/** The interval that a point counts. */
interface Interval {
  /** Its end. */
  readonly at: string;
  readonly overMs: number;
}

/** A point and its time. Without a point: the collector was not running, and the line is interrupted. */
interface RateSample<Point extends Interval> {
  readonly atMs: number;
  readonly point?: Point;
}

/** Consecutive points are at most this far apart. */
const TOLERANCE_MS = 100;

export function withGaps<Point extends Interval>(points: readonly Point[]): RateSample<Point>[] {
  return points.flatMap((point, index): RateSample<Point>[] => {
    const atMs = Date.parse(point.at);
    const before = points[index - 1];
    const sample = { atMs, point };
    const isGap = before !== undefined && atMs - point.overMs > Date.parse(before.at) + TOLERANCE_MS;
    return isGap ? [{ atMs: atMs - point.overMs }, sample] : [sample];
  });
}

/** The spans of rates: their names, lengths and the time between two points. */
export const SPANS: Readonly<
  Record<RateSpan, { readonly label: string; readonly ms: number; readonly every: string }>
> = {
  "5m": { label: "5 min", ms: 300_000, every: "2 s" },
  "1h": { label: "1 hour", ms: 3_600_000, every: "20 s" },
  "24h": { label: "24 hours", ms: 86_400_000, every: "5 min" },
};

/** For a collector that started less than this ago, the charts begin with the shortest span. */
const RECENT_START_MS = 15 * 60_000;

export function firstSpan(startedAtMs: number, nowMs: number): RateSpan {
  return nowMs - startedAtMs < RECENT_START_MS ? "5m" : "1h";
}

type Latencies = Pick<RatePointView, "latencyP50Ms" | "latencyP99Ms" | "latencyOver">;

/** One line of a chart of counts. */
export interface CountLine<Point> extends Pick<Series, "label" | "color" | "fill"> {
  readonly read: (point: Point) => number;
}

interface CountChartProps<Point> {
  readonly points: readonly Point[];
  readonly span: RateSpan;
  readonly lines: readonly CountLine<Point>[];
}

/** Steps of the latency axis, in milliseconds. */
const DURATION_STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000],
  ...[1, 2, 5, 10, 20, 30, 60, 120, 240, 480, 720, 1_440, 2_880].map((minutes) => minutes * 60_000),
];

export function SpanChoice({ span, onSpan }: { span: RateSpan; onSpan: (span: RateSpan) => void }) {
  return (
    <Segments
      label="Time span"
      value={span}
      options={Object.entries(SPANS).map(([value, one]) => [value as RateSpan, one.label] as const)}
      onChange={onSpan}
    />
  );
}

/** Counts per second. */
export function RateChart<Point extends Interval>({
  what,
  ...props
}: CountChartProps<Point> & { readonly what: string }) {
  const samples = withGaps(props.points);
  const rate = (point: Point, value: number) => (value * 1_000) / point.overMs;
  const series = seriesOf(samples, props.lines, rate);
  return (
    <Chart
      {...useCommon(samples, props.span)}
      label={`${what} per second over ${SPANS[props.span].label}: ${inWords(series, perSecond)}`}
      series={series}
      format={perSecond}
      formatTick={(value) => `${count(value)}/s`}
    />
  );
}

/** Counts per point. */
export function CountChart<Point extends Interval>({
  what,
  ...props
}: CountChartProps<Point> & { readonly what: string }) {
  const { label, every } = SPANS[props.span];
  const samples = withGaps(props.points);
  const series = seriesOf(samples, props.lines, (_point, value) => value);
  return (
    <Chart
      {...useCommon(samples, props.span)}
      label={`${what} per ${every} over ${label}: ${inWords(series, count)}`}
      series={series}
      format={count}
    />
  );
}

export function LatencyChart<Point extends Interval & Latencies & { readonly delivered: number }>({
  points,
  span,
}: {
  points: readonly Point[];
  span: RateSpan;
}) {
  const samples = withGaps(points);
  const series = latencyOf(samples);
  return (
    <Chart
      {...useCommon(samples, span)}
      label={`Latency over ${SPANS[span].label}: ${inWords(series, duration)}`}
      series={series}
      format={duration}
      tickSteps={DURATION_STEPS}
      noteOf={(index) => {
        const delivered = samples[index]?.point?.delivered;
        return delivered === undefined ? undefined : `of ${counted(delivered, "delivery", "deliveries")}`;
      }}
    />
  );
}

function useCommon(samples: readonly { readonly atMs: number }[], span: RateSpan) {
  const themeKey = useShownTheme();
  return { timesMs: samples.map(({ atMs }) => atMs), spanMs: SPANS[span].ms, themeKey };
}

function seriesOf<Point extends Interval>(
  samples: readonly RateSample<Point>[],
  lines: readonly CountLine<Point>[],
  scaled: (point: Point, value: number) => number,
): readonly Series[] {
  return lines.map(({ read, ...line }) => ({
    ...line,
    values: samples.map(({ point }) => (point === undefined ? null : scaled(point, read(point)))),
  }));
}

function latencyOf(samples: readonly RateSample<Interval & Latencies>[]): readonly Series[] {
  return [
    {
      label: "p50",
      color: "--accent",
      values: samples.map(({ point }) => point?.latencyP50Ms ?? null),
      isMore: samples.map(({ point }) => point?.latencyOver?.includes("p50") === true),
      fill: true,
    },
    {
      label: "p99",
      color: "--wait",
      values: samples.map(({ point }) => point?.latencyP99Ms ?? null),
      isMore: samples.map(({ point }) => point?.latencyOver?.includes("p99") === true),
    },
  ];
}

/** The last values, for screen readers. */
function inWords(series: readonly Series[], format: (value: number) => string): string {
  return series
    .map((line) => {
      const index = newestIndex(line);
      return `${line.label} ${index === -1 ? "unknown" : valueText(line, index, format)}`;
    })
    .join(", ");
}
