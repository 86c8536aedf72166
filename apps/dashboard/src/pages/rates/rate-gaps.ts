/** The interval that a point counts. */
export interface Interval {
  /** Its end. */
  readonly at: string;
  readonly overMs: number;
}

/** A point and its time. Without a point: the collector was not running, and the line is interrupted. */
export interface RateSample<Point extends Interval> {
  readonly atMs: number;
  readonly point?: Point;
}

/** Consecutive points are at most this far apart. */
const TOLERANCE_MS = 100;

export function withGaps<Point extends Interval>(points: readonly Point[]): RateSample<Point>[] {
  return points.flatMap((point, index): RateSample<Point>[] => {
    const atMs = Date.parse(point.at);
    const before = points[index - 1];
    const sample = { atMs, point };
    const isGap = before !== undefined && atMs - point.overMs > Date.parse(before.at) + TOLERANCE_MS;
    return isGap ? [{ atMs: atMs - point.overMs }, sample] : [sample];
  });
}
