import type uPlot from "uplot";
import { clockTime, dayOf } from "../../../words/times.js";
import { isolatedPoints, type Series } from "./series.js";

/** What a plot reads each time it is drawn. */
export interface Plotted {
  readonly series: readonly Series[];
  readonly spanMs: number;
  readonly height: number;
  readonly formatTick: (value: number) => string;
  readonly tickSteps: readonly number[] | undefined;
  /** Called with the index of the point under the pointer; null: none. */
  readonly onPoint: (index: number | null) => void;
}

type ReadColor = (property: string, alpha?: number) => string;

/** Steps of the time axis, in seconds. */
const TIME_STEPS = [30, 60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600];

const DAY_MS = 86_400_000;

/** The same where more than a day is shown. uPlot makes calendar months of 30 days. */
const DAY_STEPS = [1, 2, 7, 14, 30, 60, 90, 180].map((days) => (days * DAY_MS) / 1_000);

/** Whether ticks are days, not times of a day. */
export function showsDays({ spanMs }: { readonly spanMs: number }): boolean {
  return spanMs > DAY_MS;
}

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
    // Half a label of the time axis is right of the plot.
    padding: [8, 20, 0, 0],
    scales: {
      x: { time: true, range: ({ data }) => lastSpan(data[0].at(-1), latest().spanMs) },
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
      incrs: () => (showsDays(latest()) ? DAY_STEPS : TIME_STEPS),
      values: (_plot, ticks) =>
        ticks.map((tick) => (showsDays(latest()) ? dayOf(tick * 1_000) : clockTime(tick * 1_000, "min"))),
    },
    {
      ...common,
      grid: { stroke: color("--line"), width: 1 },
      size: (_plot, labels) => axisWidth(labels),
      incrs: [...(latest().tickSteps ?? VALUE_STEPS)],
      values: (_plot, ticks) => ticks.map((tick) => latest().formatTick(tick)),
    },
  ];
}

/** Room for the labels of the value axis: "0/s", "1 min 20 s". */
function axisWidth(labels: readonly string[] | null): number {
  const longest = Math.max(0, ...(labels ?? []).map(({ length }) => length));
  return Math.max(50, 14 + longest * 6);
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

/** The shown span, in seconds, up to the last point. uPlot's own maximum is a day after a single point. */
function lastSpan(last: number | undefined, spanMs: number): [number, number] {
  const to = last ?? Date.now() / 1_000;
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
