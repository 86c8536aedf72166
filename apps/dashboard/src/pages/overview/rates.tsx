import type { RatePointView, RateSpan } from "@sluice/protocol";
import { useState } from "react";
import { deliveriesIn, type Totals } from "../../api/metrics.js";
import { useRates } from "../../api/queries.js";
import { useShownTheme } from "../../theme/theme-context.js";
import { Segments } from "../../ui/controls/segments.js";
import { Chart, type Series } from "../../ui/data/chart/chart.js";
import { Stat } from "../../ui/data/stat.js";
import { Card } from "../../ui/layout/page.js";
import { count, duration, percent, perSecond } from "../../words/numbers.js";
import { withGaps } from "./rate-gaps.js";

/** Shown at the top: the finest points of so long. */
const NOW_MS = 10_000;
/** A collector that is younger is looked at closely first. */
const YOUNG_MS = 15 * 60_000;

const SPANS: Readonly<
  Record<RateSpan, { readonly label: string; readonly ms: number; readonly every: string }>
> = {
  "5m": { label: "5 min", ms: 300_000, every: "2 s" },
  "1h": { label: "1 hour", ms: 3_600_000, every: "20 s" },
  "24h": { label: "24 hours", ms: 86_400_000, every: "5 min" },
};

/** Rates and latency: now, and over the time that the collector remembers. */
export function Rates({ totals, startedAtMs }: { totals: Totals | undefined; startedAtMs: number }) {
  const [span, setSpan] = useState<RateSpan>(() => (Date.now() - startedAtMs < YOUNG_MS ? "5m" : "1h"));
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
          label="Success"
          value={totals && successOf(totals)}
          note={`of deliveries that ended, since start · ${totals ? count(deliveriesIn(totals, "failed")) : "…"} failed`}
        />
        <Stat
          label="Rejected"
          value={totals && count(totals.rejected)}
          note={`since start · ${totals ? count(totals.duplicates) : "…"} duplicates left out`}
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
  const { ms, every } = SPANS[span];
  const timesMs = points.map(({ atMs }) => atMs);
  const values = (read: (point: RatePointView) => number | undefined) =>
    points.map(({ point }) => (point && read(point)) ?? null);
  const rates = (read: (point: RatePointView) => number) =>
    values((point) => (read(point) * 1_000) / point.overMs);
  const throughput: readonly Series[] = [
    { label: "Accepted", color: "--accent", values: rates(({ accepted }) => accepted), fill: true },
    { label: "Delivered", color: "--good", values: rates(({ delivered }) => delivered) },
    { label: "Failed", color: "--bad", values: rates(({ failed }) => failed) },
  ];
  const latency: readonly Series[] = [
    {
      label: "Half within",
      color: "--accent",
      values: values(({ latencyP50Ms }) => latencyP50Ms),
      fill: true,
    },
    {
      label: "99 % within",
      color: "--wait",
      values: values(({ latencyP99Ms }) => latencyP99Ms),
    },
  ];
  const common = { timesMs, spanMs: ms, themeKey: theme };
  return (
    <div className="two-columns">
      <Card
        title="Messages a second"
        note={`All sources and destinations, a point every ${every}`}
        actions={
          <Segments
            label="Time shown"
            value={span}
            options={Object.entries(SPANS).map(([value, { label }]) => [value as RateSpan, label] as const)}
            onChange={onSpan}
          />
        }
      >
        <Chart
          {...common}
          label={`Messages a second over ${SPANS[span].label}: ${inWords(throughput, perSecond)}`}
          series={throughput}
          format={perSecond}
          formatTick={(value) => `${count(value)}/s`}
        />
      </Card>
      <Card
        title="From receipt to delivery"
        note={`Of what was delivered in each ${every}, retries included`}
      >
        <Chart
          {...common}
          label={`Latency over ${SPANS[span].label}: ${inWords(latency, duration)}`}
          series={latency}
          format={duration}
        />
      </Card>
    </div>
  );
}

/** The points of the last so many milliseconds, up to the newest. */
function lastPoints(points: readonly RatePointView[], ms: number): readonly RatePointView[] {
  const newest = points.at(-1);
  return newest === undefined ? [] : points.filter(({ at }) => Date.parse(at) > Date.parse(newest.at) - ms);
}

function rateOf(points: readonly RatePointView[], read: (point: RatePointView) => number): number {
  const ms = points.reduce((sum, { overMs }) => sum + overMs, 0);
  return ms === 0 ? 0 : (points.reduce((sum, point) => sum + read(point), 0) * 1_000) / ms;
}

function successOf(totals: Totals): string {
  const good = deliveriesIn(totals, "delivered");
  const all = good + deliveriesIn(totals, "failed");
  return all === 0 ? "–" : percent(good / all);
}

/** The last values, for whoever does not see the lines. */
function inWords(series: readonly Series[], format: (value: number) => string): string {
  return series
    .map(({ label, values }) => {
      const last = values.findLast((value) => value !== null);
      return `${label} ${last === undefined || last === null ? "not known" : format(last)}`;
    })
    .join(", ");
}
