import type { RatePointView, RateSpan } from "@sluice/control-api";
import { useRates } from "../../api/queries.js";
import { Stat } from "../../ui/data/facts.js";
import { Card } from "../../ui/layout/page.js";
import { count, percent, rateText } from "../../words/numbers.js";
import { type CountLine, LatencyChart, RateChart, SPANS } from "../rates.js";

/** Points of a trend. */
const TREND_POINTS = 32;

/** What was accepted, delivered, failed and refused in the chosen span, with the way there. */
export function Tiles({ span }: { span: RateSpan }) {
  const points = useRates(span).data?.points;
  const sum = (read: (point: RatePointView) => number) =>
    points?.reduce((total, point) => total + read(point), 0);
  const overMs = sum((point) => point.overMs);
  const accepted = sum(acceptedIn);
  const delivered = sum(deliveredIn);
  const failed = sum(failedIn);
  const rejected = sum(rejectedIn);
  const share =
    delivered !== undefined && failed !== undefined ? delivered / (delivered + failed) : Number.NaN;
  return (
    <div className="stats">
      <Stat
        label="Accepted"
        value={accepted === undefined ? undefined : count(accepted)}
        note={`${rateText(accepted, overMs)} on average`}
        trend={trendOf(points, acceptedIn)}
      />
      <Stat
        label="Delivered"
        value={delivered === undefined ? undefined : count(delivered)}
        note={`${rateText(delivered, overMs)} on average, all destinations`}
        trend={trendOf(points, deliveredIn)}
      />
      <Stat
        label="Success rate"
        value={points && (Number.isNaN(share) ? "–" : percent(share))}
        note={failed === undefined ? "…" : `${count(failed)} given up`}
        trend={trendOf(points, deliveredIn, failedIn)}
      />
      <Stat
        label="Rejected"
        value={rejected === undefined ? undefined : count(rejected)}
        note="Messages that are not valid"
        trend={trendOf(points, rejectedIn)}
      />
    </div>
  );
}

const acceptedIn = ({ accepted }: RatePointView): number => accepted;
const deliveredIn = ({ delivered }: RatePointView): number => delivered;
const failedIn = ({ failed }: RatePointView): number => failed;
const rejectedIn = ({ rejected }: RatePointView): number => rejected;

/** Sums of neighbouring points; with `others`, the share of those and `others` together: 1 where there was nothing. */
function trendOf(
  points: readonly RatePointView[] = [],
  read: (point: RatePointView) => number,
  others?: (point: RatePointView) => number,
): number[] {
  const size = Math.max(1, Math.ceil(points.length / TREND_POINTS));
  const sums: number[] = [];
  const valueIn = (part: readonly RatePointView[]): number => {
    const value = part.reduce((sum, point) => sum + read(point), 0);
    if (others === undefined) return value;
    const all = part.reduce((sum, point) => sum + others(point), value);
    return all === 0 ? 1 : value / all;
  };
  // From the newest back, so that the last sum is not of fewer points.
  for (let end = points.length; end >= size; end -= size)
    sums.unshift(valueIn(points.slice(end - size, end)));
  return sums;
}

const LINES: readonly CountLine<RatePointView>[] = [
  { label: "Accepted", color: "--accent", read: acceptedIn, fill: true },
  { label: "Delivered", color: "--good", read: deliveredIn },
  { label: "Failed", color: "--bad", read: failedIn },
];

export function RateCharts({ span }: { span: RateSpan }) {
  const points = useRates(span).data?.points ?? [];
  const { every } = SPANS[span];
  return (
    <div className="two-columns">
      <Card title="Messages per second" note={`All destinations, one point per ${every}`}>
        <RateChart what="Messages" points={points} span={span} lines={LINES} />
      </Card>
      <Card title="Delivery latency" note={`From receipt, with retries, one point per ${every}`}>
        <LatencyChart points={points} span={span} />
      </Card>
    </div>
  );
}
