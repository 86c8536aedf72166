import type { SizeSpan } from "@sluice/control-api";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Resolution and length of each span: 533 points in total. */
export const SIZE_SPANS: Readonly<Record<SizeSpan, { readonly everyMs: number; readonly points: number }>> = {
  week: { everyMs: HOUR_MS, points: 168 },
  year: { everyMs: DAY_MS, points: 365 },
};

type SizePoint = readonly [atMs: number, size: number];

/** The points of one audience, oldest first. Stored as it is: the field names are a format. */
export type KeptSizes = { readonly [span in SizeSpan]: readonly SizePoint[] };

/**
 * Points that are further ahead than this were stored by a clock that was wrong, and are removed. If a clock was set back by less,
 * points begin again when it reaches the last one.
 */
const LONGEST_WAIT_MS = DAY_MS;

/** The number of the hour of UTC. Within it, an audience gets no second point. */
export function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS);
}

/** Adds a point to each span that has none for its hour or day of UTC. Returns `kept` itself if that changes nothing. */
export function withSize(kept: KeptSizes | undefined, point: SizePoint): KeptSizes {
  const week = pointsWith(kept?.week ?? [], point, "week");
  const year = pointsWith(kept?.year ?? [], point, "year");
  return week === kept?.week && year === kept?.year ? kept : { week, year };
}

function pointsWith(points: readonly SizePoint[], point: SizePoint, span: SizeSpan): readonly SizePoint[] {
  const { everyMs, points: most } = SIZE_SPANS[span];
  const [atMs] = point;
  const valid = points.filter(([at]) => at <= atMs + LONGEST_WAIT_MS);
  const last = valid.at(-1);
  if (last === undefined || Math.floor(atMs / everyMs) > Math.floor(last[0] / everyMs))
    return [...valid, point].slice(-most);
  return valid.length === points.length ? points : valid;
}

/** The points within the span that ends now. */
export function sizesWithin(
  kept: KeptSizes | undefined,
  span: SizeSpan,
  nowMs: number,
): readonly SizePoint[] {
  const { everyMs, points: most } = SIZE_SPANS[span];
  return (kept?.[span] ?? []).filter(([at]) => at > nowMs - everyMs * most && at <= nowMs);
}
