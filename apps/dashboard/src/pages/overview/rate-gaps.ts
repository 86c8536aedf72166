import type { RatePointView } from "@sluice/protocol";

/** A point and when it ended; without one: the collector did not run, and no line is to cross the time. */
export interface RatePlace {
  readonly atMs: number;
  readonly point?: RatePointView;
}

/** Points that follow on one another are this near at most: times are told in milliseconds. */
const TOLERANCE_MS = 100;

export function withGaps(points: readonly RatePointView[]): RatePlace[] {
  return points.flatMap((point, index): RatePlace[] => {
    const atMs = Date.parse(point.at);
    const before = points[index - 1];
    const place = { atMs, point };
    const isGap = before !== undefined && atMs - point.overMs > Date.parse(before.at) + TOLERANCE_MS;
    return isGap ? [{ atMs: atMs - point.overMs }, place] : [place];
  });
}
