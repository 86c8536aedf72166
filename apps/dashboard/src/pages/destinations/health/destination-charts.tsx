import type { DestinationRatePointView, RateSpan } from "@sluice/control-api";
import { useState } from "react";
import { useDestinationRates, useInfo } from "../../../api/queries.js";
import { Failure } from "../../../ui/feedback/failure.js";
import { Card } from "../../../ui/layout/page.js";
import { CountChart, type CountLine, LatencyChart, RateChart, SpanChoice } from "../../rates/rate-chart.js";
import { firstSpan, SPANS } from "../../rates/spans.js";

const DELIVERED: readonly CountLine<DestinationRatePointView>[] = [
  { label: "Delivered", color: "--good", read: ({ delivered }) => delivered, fill: true },
];

const FAILURES: readonly CountLine<DestinationRatePointView>[] = [
  { label: "Retried", color: "--wait", read: ({ retried }) => retried, fill: true },
  { label: "Failed", color: "--bad", read: ({ failed }) => failed },
];

/** Rate, latency and failures of a destination over time. */
export function DestinationCharts({ id }: { id: string }) {
  const [chosen, setSpan] = useState<RateSpan>();
  const info = useInfo().data;
  const span =
    chosen ?? (info === undefined ? "1h" : firstSpan(Date.parse(info.startedAt), Date.parse(info.now)));
  const { data, error, isError, refetch } = useDestinationRates(id, span);
  const points = data?.points ?? [];
  const { label, every } = SPANS[span];
  const isQuiet = points.every(({ delivered, failed, retried }) => delivered + failed + retried === 0);
  return (
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
  );
}
