import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clockTime } from "../../../words/times.js";
import { isolatedPoints } from "./isolated-points.js";

export interface Series {
  readonly label: string;
  /** A custom property of `tokens.css`. */
  readonly color: "--accent" | "--good" | "--bad" | "--wait" | "--quiet";
  readonly values: readonly (number | null)[];
  readonly fill?: boolean;
}

/** Steps between the times of the axis, in seconds. */
const TIME_STEPS = [30, 60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600];

/** Steps between the values of the axis: whole numbers, in which everything here is told. */
const VALUE_STEPS = Array.from({ length: 13 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

/** Lines over time, with a legend that says the last values, or those under the pointer. */
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
  /** How much time is shown, up to the last point: what is not known yet is left blank. */
  spanMs: number;
  format: (value: number) => string;
  /** Of a whole number at the axis. Default: `format`. */
  formatTick?: (value: number) => string;
  height?: number;
  /** Changes when the colours do. */
  themeKey: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [pointed, setPointed] = useState<number | null>(null);
  const shape = series.map((line) => `${line.label}${line.color}`).join();
  const latest = useRef({ formatTick, series, spanMs });
  latest.current = { formatTick, series, spanMs };

  // biome-ignore lint/correctness/useExhaustiveDependencies: a chart is made anew only when its lines or colours change
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const color = colorReader(element);
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
        hooks: { setCursor: [(chart) => setPointed(chart.cursor.idx ?? null)] },
        padding: [8, 8, 0, 0],
        scales: {
          x: { time: true, range: (_plot, _min, max) => lastSpan(max, latest.current.spanMs) },
          y: { range: (_plot, _min, max) => [0, Math.max((max ?? 0) * 1.15, 1)] },
        },
        axes: [
          {
            stroke: color("--ink-faint"),
            font: "11px Geist, sans-serif",
            grid: { show: false },
            ticks: { show: false },
            size: 24,
            space: 70,
            incrs: TIME_STEPS,
            values: (_plot, ticks) => ticks.map((tick) => clockTime(tick * 1_000, "min")),
          },
          {
            stroke: color("--ink-faint"),
            font: "11px Geist, sans-serif",
            grid: { stroke: color("--line"), width: 1 },
            ticks: { show: false },
            size: 50,
            incrs: VALUE_STEPS,
            values: (_plot, ticks) => ticks.map((tick) => latest.current.formatTick(tick)),
          },
        ],
        series: [
          {},
          ...latest.current.series.map((line) => ({
            label: line.label,
            stroke: color(line.color),
            width: 1.75,
            points: {
              show: false,
              size: 5,
              fill: color(line.color),
              filter: (plot: uPlot, index: number) => isolatedPoints(plot.data[index] ?? []),
            },
            ...(line.fill ? { fill: color(line.color, 0.12) } : {}),
          })),
        ],
      },
      dataOf(timesMs, latest.current.series),
      element,
    );
    plot.current = made;
    const resizing = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resizing.observe(element);
    return () => {
      resizing.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [shape, height, themeKey]);

  useEffect(() => plot.current?.setData(dataOf(timesMs, series)), [timesMs, series]);

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
      {/* The height stands before the chart is drawn, so that nothing moves when it is. */}
      <div ref={box} className={`chart chart-${height}`} role="img" aria-label={label} />
    </>
  );
}

/** Seconds from and to; `max` is null while there is no point. */
function lastSpan(max: number | null, spanMs: number): [number, number] {
  const to = max ?? Date.now() / 1_000;
  return [to - spanMs / 1_000, to];
}

function lastOf(values: Series["values"]): number | undefined {
  return values.findLast((value) => value !== null) ?? undefined;
}

function dataOf(timesMs: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  return [timesMs.map((at) => at / 1_000), ...series.map((line) => [...line.values])];
}

/** Custom properties that hold `light-dark(…)` have a colour only on an element: it is read off one. */
function colorReader(parent: HTMLElement): (property: string, alpha?: number) => string {
  return (property, alpha = 1) => {
    const probe = document.createElement("span");
    probe.style.color = alpha === 1 ? `var(${property})` : `oklch(from var(${property}) l c h / ${alpha})`;
    parent.append(probe);
    const color = getComputedStyle(probe).color;
    probe.remove();
    return color;
  };
}
