import { useState } from "react";
import "uplot/dist/uPlot.min.css";
import { clockTime } from "../../../words/times.js";
import type { Series } from "./series.js";
import { usePlot } from "./use-plot.js";

/** Lines over time. The legend shows the last values, or those under the pointer. */
export function Chart({
  label,
  timesMs,
  series,
  spanMs,
  format,
  formatTick = format,
  height = 160,
  themeKey,
}: {
  label: string;
  timesMs: readonly number[];
  series: readonly Series[];
  /** The time shown, up to the last point. Times without data stay blank. */
  spanMs: number;
  format: (value: number) => string;
  /** Formats a whole number at the axis. Default: `format`. */
  formatTick?: (value: number) => string;
  height?: number;
  /** Changes when the colours do. */
  themeKey: string;
}) {
  const [pointed, setPointed] = useState<number | null>(null);
  const box = usePlot({ timesMs, series, spanMs, formatTick, height, themeKey, onPoint: setPointed });
  const shown = pointed !== null && timesMs[pointed] !== undefined ? pointed : undefined;
  return (
    <>
      <p className="legend">
        {series.map((line) => {
          const value = shown === undefined ? lastOf(line.values) : line.values[shown];
          return (
            <span key={line.label}>
              <span className={`dot dot-series${line.color}`} aria-hidden="true" />
              {line.label}
              <span className="legend-value number">
                {value === undefined || value === null ? "–" : format(value)}
              </span>
            </span>
          );
        })}
        <span className="legend-time number">
          {shown === undefined ? "" : clockTime(timesMs[shown] as number)}
        </span>
      </p>
      {/* The box has its height before the chart is drawn, so that the page does not move. */}
      <div ref={box} className={`chart chart-${height}`} role="img" aria-label={label} />
    </>
  );
}

function lastOf(values: Series["values"]): number | undefined {
  return values.findLast((value) => value !== null) ?? undefined;
}
