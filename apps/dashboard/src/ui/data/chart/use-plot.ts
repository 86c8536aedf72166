import { type RefObject, useEffect, useRef } from "react";
import uPlot from "uplot";
import { colorReader, type Plotted, plotOptions } from "./plot-options.js";
import type { Series } from "./series.js";

/** Draws a chart into the returned box and keeps its size and data current. */
export function usePlot({
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
