import type { RatePointView, RateSpan } from "@sluice/control-api";
import { type ReactNode, useState } from "react";
import { deliveriesIn, type Totals } from "../../api/metrics.js";
import { useRates } from "../../api/queries.js";
import { Stat } from "../../ui/data/stat.js";
import { Card } from "../../ui/layout/page.js";
import { count, percent, perSecond } from "../../words/numbers.js";
import { type CountLine, LatencyChart, RateChart, SpanChoice } from "../rates/rate-chart.js";
import { firstSpan, SPANS } from "../rates/spans.js";

/** The span of the current rates. */
const NOW_MS = 10_000;
/** Rates and latency, now and over time, with the alerts in between. */
export function Rates({
  totals,
  startedAtMs,
  alerts,
}: {
  totals: Totals | undefined;
  startedAtMs: number;
  alerts: ReactNode;
}) {
  const [span, setSpan] = useState<RateSpan>(() => firstSpan(startedAtMs, Date.now()));
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
      {alerts}
      <Charts span={span} onSpan={setSpan} />
    </>
  );
}

const LINES: readonly CountLine<RatePointView>[] = [
  { label: "Accepted", color: "--accent", read: ({ accepted }) => accepted, fill: true },
  { label: "Delivered", color: "--good", read: ({ delivered }) => delivered },
  { label: "Failed", color: "--bad", read: ({ failed }) => failed },
];

function Charts({ span, onSpan }: { span: RateSpan; onSpan: (span: RateSpan) => void }) {
  const points = useRates(span).data?.points ?? [];
  const { every } = SPANS[span];
  return (
    <div className="two-columns">
      <Card
        title="Messages per second"
        note={`All destinations, one point per ${every}`}
        actions={<SpanChoice span={span} onSpan={onSpan} />}
      >
        <RateChart what="Messages" points={points} span={span} lines={LINES} />
      </Card>
      <Card title="Delivery latency" note={`From receipt to delivery, with retries, one point per ${every}`}>
        <LatencyChart points={points} span={span} />
      </Card>
    </div>
  );
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
