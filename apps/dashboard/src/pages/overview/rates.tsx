import type { RatePointView, RateSpan } from "@sluice/control-api";
import { useState } from "react";
import { deliveriesIn, type Totals } from "../../api/metrics.js";
import { useRates } from "../../api/queries.js";
import { useShownTheme } from "../../theme/theme-context.js";
import { Segments } from "../../ui/controls/segments.js";
import { Chart } from "../../ui/data/chart/chart.js";
import type { Series } from "../../ui/data/chart/series.js";
import { Stat } from "../../ui/data/stat.js";
import { Card } from "../../ui/layout/page.js";
import { count, duration, percent, perSecond } from "../../words/numbers.js";
import { type RateSample, withGaps } from "./rate-gaps.js";

/** The span of the current rates. */
const NOW_MS = 10_000;
/** For a collector that started less than this ago, the charts begin with the shortest span. */
const RECENT_START_MS = 15 * 60_000;

const SPANS: Readonly<
  Record<RateSpan, { readonly label: string; readonly ms: number; readonly every: string }>
> = {
  "5m": { label: "5 min", ms: 300_000, every: "2 s" },
  "1h": { label: "1 hour", ms: 3_600_000, every: "20 s" },
  "24h": { label: "24 hours", ms: 86_400_000, every: "5 min" },
};

/** Rates and latency, now and over time. */
export function Rates({ totals, startedAtMs }: { totals: Totals | undefined; startedAtMs: number }) {
  const [span, setSpan] = useState<RateSpan>(() =>
    Date.now() - startedAtMs < RECENT_START_MS ? "5m" : "1h",
  );
  const finest = useRates("5m").data?.points;
  const now = finest === undefined ? undefined : lastPoints(finest, NOW_MS);
  return (
    <>
      <div className="stats">
        <Stat
          label="Accepted"
          value={now && perSecond(rateOf(now, ({ accepted }) => accepted))}
          note={`last 10 s · ${totals ? count(totals.accepted) : "…"} since start`}
        />
        <Stat
          label="Delivered"
          value={now && perSecond(rateOf(now, ({ delivered }) => delivered))}
          note={`last 10 s · ${totals ? count(deliveriesIn(totals, "delivered")) : "…"} since start`}
        />
        <Stat
          label="Success rate"
          value={totals && successOf(totals)}
          note={`of completed deliveries since start · ${totals ? count(deliveriesIn(totals, "failed")) : "…"} failed`}
        />
        <Stat
          label="Rejected"
          value={totals && count(totals.rejected)}
          note={`since start · ${totals ? count(totals.duplicates) : "…"} duplicates dropped`}
        />
      </div>
      <Charts span={span} onSpan={setSpan} />
    </>
  );
}

function Charts({ span, onSpan }: { span: RateSpan; onSpan: (span: RateSpan) => void }) {
  const theme = useShownTheme();
  const { data } = useRates(span);
  const points = withGaps(data?.points ?? []);
  const { label, ms, every } = SPANS[span];
  const throughput = throughputOf(points);
  const latency = latencyOf(points);
  const common = { timesMs: points.map(({ atMs }) => atMs), spanMs: ms, themeKey: theme };
  return (
    <div className="two-columns">
      <Card
        title="Messages per second"
        note={`All sources and destinations, one point per ${every}`}
        actions={
          <Segments
            label="Time span"
            value={span}
            options={Object.entries(SPANS).map(([value, one]) => [value as RateSpan, one.label] as const)}
            onChange={onSpan}
          />
        }
      >
        <Chart
          {...common}
          label={`Messages per second over ${label}: ${inWords(throughput, perSecond)}`}
          series={throughput}
          format={perSecond}
          formatTick={(value) => `${count(value)}/s`}
        />
      </Card>
      <Card title="Delivery latency" note={`From receipt to delivery, retries included, per ${every}`}>
        <Chart
          {...common}
          label={`Latency over ${label}: ${inWords(latency, duration)}`}
          series={latency}
          format={duration}
        />
      </Card>
    </div>
  );
}

function throughputOf(points: readonly RateSample[]): readonly Series[] {
  const rates = (read: (point: RatePointView) => number) =>
    points.map(({ point }) => (point && (read(point) * 1_000) / point.overMs) ?? null);
  return [
    { label: "Accepted", color: "--accent", values: rates(({ accepted }) => accepted), fill: true },
    { label: "Delivered", color: "--good", values: rates(({ delivered }) => delivered) },
    { label: "Failed", color: "--bad", values: rates(({ failed }) => failed) },
  ];
}

function latencyOf(points: readonly RateSample[]): readonly Series[] {
  return [
    {
      label: "p50",
      color: "--accent",
      values: points.map(({ point }) => point?.latencyP50Ms ?? null),
      fill: true,
    },
    { label: "p99", color: "--wait", values: points.map(({ point }) => point?.latencyP99Ms ?? null) },
  ];
}

/** The points of the last `ms` milliseconds before the newest. */
function lastPoints(points: readonly RatePointView[], ms: number): readonly RatePointView[] {
  const newest = points.at(-1);
  return newest === undefined ? [] : points.filter(({ at }) => Date.parse(at) > Date.parse(newest.at) - ms);
}

function rateOf(points: readonly RatePointView[], read: (point: RatePointView) => number): number {
  const ms = points.reduce((sum, { overMs }) => sum + overMs, 0);
  return ms === 0 ? 0 : (points.reduce((sum, point) => sum + read(point), 0) * 1_000) / ms;
}

function successOf(totals: Totals): string {
  const delivered = deliveriesIn(totals, "delivered");
  const all = delivered + deliveriesIn(totals, "failed");
  return all === 0 ? "–" : percent(delivered / all);
}

/** The last values, for screen readers. */
function inWords(series: readonly Series[], format: (value: number) => string): string {
  return series
    .map(({ label, values }) => {
      const last = values.findLast((value) => value !== null);
      return `${label} ${last === undefined || last === null ? "unknown" : format(last)}`;
    })
    .join(", ");
}
