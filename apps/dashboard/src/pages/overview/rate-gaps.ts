import type { RatePointView } from "@sluice/control-api";

/** A point and its time. Without a point: the collector was not running, and the line is interrupted. */
export interface RateSample {
  readonly atMs: number;
  readonly point?: RatePointView;
}

/** Consecutive points are at most this far apart. */
const TOLERANCE_MS = 100;

export function withGaps(points: readonly RatePointView[]): RateSample[] {
  return points.flatMap((point, index): RateSample[] => {
    const atMs = Date.parse(point.at);
    const before = points[index - 1];
    const sample = { atMs, point };
    const isGap = before !== undefined && atMs - point.overMs > Date.parse(before.at) + TOLERANCE_MS;
    return isGap ? [{ atMs: atMs - point.overMs }, sample] : [sample];
  });
}
