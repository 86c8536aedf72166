import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clockTime } from "../words/times.js";

export interface Series {
  readonly label: string;
  /** A custom property of `tokens.css`. */
  readonly color: "--accent" | "--good" | "--bad" | "--wait" | "--quiet";
  readonly values: readonly (number | null)[];
  readonly fill?: boolean;
}

/** A chart that has only begun shows an empty minute rather than two seconds drawn large. */
const SHORTEST_SPAN_S = 60;

/** Lines over time. The table that says the same to a screen reader is the caller's. */
export function Chart({
  label,
  timesMs,
  series,
  format,
  height = 160,
  themeKey,
}: {
  label: string;
  timesMs: readonly number[];
  series: readonly Series[];
  format: (value: number) => string;
  height?: number;
  /** Changes when the colours do. */
  themeKey: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const shape = series.map((line) => `${line.label}${line.color}`).join();
  const formatRef = useRef(format);
  formatRef.current = format;
  const seriesRef = useRef(series);
  seriesRef.current = series;

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
        cursor: { y: false, points: { size: 7 } },
        scales: {
          x: { time: true, range: (_plot, min, max) => [Math.min(min, max - SHORTEST_SPAN_S), max] },
          y: { range: (_plot, _min, max) => [0, Math.max((max ?? 0) * 1.15, 1)] },
        },
        axes: [
          {
            stroke: color("--ink-faint"),
            font: "11px Geist, sans-serif",
            grid: { show: false },
            ticks: { show: false },
            size: 24,
            space: 90,
            incrs: [15, 30, 60, 120],
            values: (_plot, ticks) => ticks.map((tick) => clockTime(tick * 1_000)),
          },
          {
            stroke: color("--ink-faint"),
            font: "11px Geist, sans-serif",
            grid: { stroke: color("--line"), width: 1 },
            ticks: { show: false },
            size: 58,
            values: (_plot, ticks) => ticks.map((tick) => formatRef.current(tick)),
          },
        ],
        series: [
          {},
          ...seriesRef.current.map((line) => ({
            label: line.label,
            stroke: color(line.color),
            width: 1.75,
            points: { show: false },
            ...(line.fill ? { fill: color(line.color, 0.12) } : {}),
          })),
        ],
      },
      dataOf(timesMs, seriesRef.current),
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

  // The height stands before the chart is drawn, so that nothing moves when it is.
  return <div ref={box} className={`chart chart-${height}`} role="img" aria-label={label} />;
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
