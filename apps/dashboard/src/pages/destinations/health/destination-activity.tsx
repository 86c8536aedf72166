import type { DestinationRatePointView, RateSpan } from "@sluice/control-api";
import { useState } from "react";
import { useDestinationRates, useDestinationStatus, useInfo } from "../../../api/queries.js";
import { Stat } from "../../../ui/data/facts.js";
import { Failure } from "../../../ui/feedback.js";
import { Card } from "../../../ui/layout/page.js";
import { count, rateText, successText } from "../../../words/numbers.js";
import { backlogNote } from "../../../words/states.js";
import {
  CountChart,
  type CountLine,
  firstSpan,
  LatencyChart,
  RateChart,
  SPANS,
  SpanChoice,
} from "../../rates.js";

const DELIVERED: readonly CountLine<DestinationRatePointView>[] = [
  { label: "Delivered", color: "--good", read: ({ delivered }) => delivered, fill: true },
];

const FAILURES: readonly CountLine<DestinationRatePointView>[] = [
  { label: "Retried", color: "--wait", read: ({ retried }) => retried, fill: true },
  { label: "Failed", color: "--bad", read: ({ failed }) => failed },
];

/** Backlog, and rate, latency and failures of a destination over the chosen time. */
export function DestinationActivity({ id }: { id: string }) {
  const [chosen, setSpan] = useState<RateSpan>();
  const info = useInfo().data;
  const span =
    chosen ?? (info === undefined ? "1h" : firstSpan(Date.parse(info.startedAt), Date.parse(info.now)));
  const { data, error, isError, refetch } = useDestinationRates(id, span);
  const points = data?.points ?? [];
  const { label, every } = SPANS[span];
  const isQuiet = points.every(({ delivered, failed, retried }) => delivered + failed + retried === 0);
  return (
    <div className="sections">
      {data?.kept !== false && <Tiles id={id} points={data?.points} />}
      <Card
        title="Deliveries over time"
        note={data && isQuiet ? `Nothing was sent in the last ${label}` : `One point per ${every}`}
        actions={<SpanChoice span={span} onSpan={setSpan} />}
      >
        {isError && data === undefined && <Failure error={error} onRetry={() => void refetch()} />}
        {data?.kept === false ? (
          <p className="soft">
            There are no charts of this destination. The collector keeps them for the 100 oldest destinations.
          </p>
        ) : (
          <div className="charts">
            <div>
              <h3 className="chart-title">Delivered per second</h3>
              <RateChart what="Deliveries" points={points} span={span} lines={DELIVERED} />
            </div>
            <div>
              <h3 className="chart-title">Latency, from receipt to delivery</h3>
              <LatencyChart points={points} span={span} />
            </div>
            <div>
              <h3 className="chart-title">Failed attempts per {every}</h3>
              <CountChart what="Failed attempts" points={points} span={span} lines={FAILURES} />
              <p className="small soft">Retried: tried again later. Failed: given up.</p>
            </div>
          </div>
        )}
      </Card>
    </div>
  );
}

function Tiles({ id, points }: { id: string; points: readonly DestinationRatePointView[] | undefined }) {
  const status = useDestinationStatus(id).data;
  const sum = (read: (point: DestinationRatePointView) => number) =>
    points?.reduce((total, point) => total + read(point), 0) ?? 0;
  const delivered = sum((point) => point.delivered);
  const retried = sum((point) => point.retried);
  const failed = sum((point) => point.failed);
  return (
    <div className="stats">
      <Stat
        label="Backlog"
        value={status && count(status.waiting)}
        note={status && `Now: ${backlogNote(status)}`}
      />
      <Stat
        label="Delivered"
        value={points && count(delivered)}
        note={`${rateText(
          points && delivered,
          sum((point) => point.overMs),
        )} on average`}
      />
      <Stat
        label="Success rate"
        value={points && successText({ delivered, retried, failed })}
        note="Of attempts, also retried ones"
      />
      <Stat label="Failed" value={points && count(failed)} note="Given up" />
    </div>
  );
}
