import type uPlot from "uplot";
import { clockTime } from "../../../words/times.js";
import { isolatedPoints } from "./isolated-points.js";
import type { Series } from "./series.js";

/** What a plot reads each time it is drawn. */
export interface Plotted {
  readonly series: readonly Series[];
  readonly spanMs: number;
  readonly height: number;
  readonly formatTick: (value: number) => string;
  /** Called with the index of the point under the pointer; null: none. */
  readonly onPoint: (index: number | null) => void;
}

type ReadColor = (property: string, alpha?: number) => string;

/** Steps of the time axis, in seconds. */
const TIME_STEPS = [30, 60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600];

/** Steps of the value axis: whole numbers. */
const VALUE_STEPS = Array.from({ length: 13 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

/** The options of uPlot, except the size. `latest` returns the current input, because a plot outlives a render. */
export function plotOptions(
  latest: () => Plotted,
  color: ReadColor,
): Omit<uPlot.Options, "width" | "height"> {
  return {
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    hooks: { setCursor: [(chart) => latest().onPoint(chart.cursor.idx ?? null)] },
    padding: [8, 8, 0, 0],
    scales: {
      x: { time: true, range: (_plot, _min, max) => lastSpan(max, latest().spanMs) },
      y: { range: (_plot, _min, max) => [0, Math.max((max ?? 0) * 1.15, 1)] },
    },
    axes: axesOf(latest, color),
    series: [{}, ...latest().series.map((line) => lineOf(line, color))],
  };
}

function axesOf(latest: () => Plotted, color: ReadColor): uPlot.Axis[] {
  const common = { stroke: color("--ink-faint"), font: "11px Geist, sans-serif", ticks: { show: false } };
  return [
    {
      ...common,
      grid: { show: false },
      size: 24,
      space: 70,
      incrs: TIME_STEPS,
      values: (_plot, ticks) => ticks.map((tick) => clockTime(tick * 1_000, "min")),
    },
    {
      ...common,
      grid: { stroke: color("--line"), width: 1 },
      size: 50,
      incrs: VALUE_STEPS,
      values: (_plot, ticks) => ticks.map((tick) => latest().formatTick(tick)),
    },
  ];
}

function lineOf(line: Series, color: ReadColor): uPlot.Series {
  return {
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
  };
}

/** The shown span, in seconds. `max` is null while there is no point. */
function lastSpan(max: number | null, spanMs: number): [number, number] {
  const to = max ?? Date.now() / 1_000;
  return [to - spanMs / 1_000, to];
}

/** Reads colours off an element: custom properties with `light-dark(…)` resolve only there. */
export function colorReader(parent: HTMLElement): ReadColor {
  return (property, alpha = 1) => {
    const probe = document.createElement("span");
    probe.style.color = alpha === 1 ? `var(${property})` : `oklch(from var(${property}) l c h / ${alpha})`;
    parent.append(probe);
    const color = getComputedStyle(probe).color;
    probe.remove();
    return color;
  };
}
