import { useState } from "react";
import "uplot/dist/uPlot.min.css";

import { type RefObject, useEffect, useRef } from "react";
import uPlot from "uplot";
import { clockTime, dateOf } from "../../../words/times.js";
import { colorReader, type Plotted, plotOptions, showsDays } from "./plot-options.js";
import { newestIndex, type Series, valueText } from "./series.js";

/** Lines over time. The legend shows the last values, or those under the pointer. */
export function Chart({
  label,
  timesMs,
  series,
  spanMs,
  format,
  formatTick = format,
  tickSteps,
  noteOf,
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
  /** Steps of the value axis, ascending. Default: 1, 2, 5, 10 … */
  tickSteps?: readonly number[];
  /** Shown in the legend for the point at an index, such as how many values it is made of. */
  noteOf?: (index: number) => string | undefined;
  height?: number;
  /** Changes when the colours do. */
  themeKey: string;
}) {
  const [pointed, setPointed] = useState<number | null>(null);
  const box = usePlot({
    timesMs,
    series,
    spanMs,
    formatTick,
    tickSteps,
    height,
    themeKey,
    onPoint: setPointed,
  });
  const shown = pointed !== null && timesMs[pointed] !== undefined ? pointed : undefined;
  // Without any value, an axis would be invented.
  const isEmpty = series.every(({ values }) => values.every((value) => value === null));
  return (
    <>
      <p className="legend">
        {series.map((line) => {
          const index = shown ?? newestIndex(line);
          return (
            <span key={line.label}>
              <span className={`dot dot-series${line.color}`} aria-hidden="true" />
              {line.label}
              <span className="legend-value number">{valueText(line, index, format)}</span>
            </span>
          );
        })}
        <span className="legend-time number">
          {[
            noteOf?.(shown ?? Math.max(...series.map(newestIndex))),
            shown === undefined ? undefined : pointedTime(timesMs[shown] as number, spanMs),
          ]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </p>
      {/* The box has its height before the chart is drawn, so that the page does not move. */}
      <div
        ref={box}
        className={`chart chart-${height}${isEmpty ? " chart-empty" : ""}`}
        role="img"
        aria-label={label}
      />
    </>
  );
}

function pointedTime(atMs: number, spanMs: number): string {
  return showsDays({ spanMs }) ? `${dateOf(atMs)}, ${clockTime(atMs, "min")}` : clockTime(atMs);
}

/** Draws a chart into the returned box and keeps its size and data current. */
function usePlot({
  timesMs,
  series,
  themeKey,
  ...rest
}: Plotted & {
  readonly timesMs: readonly number[];
  /** Changes when the colours do. */
  readonly themeKey: string;
}): RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const { height } = rest;
  const shape = series.map((line) => `${line.label}${line.color}`).join();
  const latest = useRef<Plotted>({ series, ...rest });
  latest.current = { series, ...rest };

  // biome-ignore lint/correctness/useExhaustiveDependencies: create a new chart only when its lines or colours change
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const size = () => ({ width: element.clientWidth, height });
    const created = new uPlot(
      { ...size(), ...plotOptions(() => latest.current, colorReader(element)) },
      dataOf(timesMs, latest.current.series),
      element,
    );
    plot.current = created;
    const resizing = new ResizeObserver(() => created.setSize(size()));
    resizing.observe(element);
    return () => {
      resizing.disconnect();
      created.destroy();
      plot.current = undefined;
    };
  }, [shape, height, themeKey]);

  useEffect(() => plot.current?.setData(dataOf(timesMs, series)), [timesMs, series]);
  return box;
}

function dataOf(timesMs: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  return [timesMs.map((at) => at / 1_000), ...series.map((line) => [...line.values])];
}
