import type { PropertyTest } from "@sluice/protocol";

/** What is counted. */
export interface TallyAspect {
  readonly kind: "tally";
  readonly event: string;
  readonly where: readonly PropertyTest[];
  readonly withinMs?: number;
  /** Events are told apart up to this many: one more than the condition's number. */
  readonly most: number;
}

/**
 * How often a user did an event. Without a window the number and the time of the latest; with one the latest times,
 * newest first, as many as the condition tells apart: older ones leave the window before these do.
 */
export type Tally =
  | { readonly count: number; readonly lastMs: number }
  | { readonly times: readonly number[] };

export function add(aspect: TallyAspect, tally: Tally | undefined, atMs: number): Tally {
  if (aspect.withinMs === undefined) {
    return tally !== undefined && "count" in tally
      ? { count: tally.count + 1, lastMs: Math.max(tally.lastMs, atMs) }
      : { count: 1, lastMs: atMs };
  }
  const times = tally !== undefined && "times" in tally ? tally.times : [];
  const place = times.findIndex((time) => time <= atMs);
  const next = times.toSpliced(place < 0 ? times.length : place, 0, atMs);
  if (next.length > aspect.most) next.length = aspect.most;
  return { times: next };
}

export function merge(aspect: TallyAspect, one: Tally, other: Tally): Tally {
  if ("count" in one && "count" in other)
    return { count: one.count + other.count, lastMs: Math.max(one.lastMs, other.lastMs) };
  const times = [...("times" in one ? one.times : []), ...("times" in other ? other.times : [])];
  return { times: times.sort((a, b) => b - a).slice(0, aspect.most) };
}

/** How often, as far as the condition tells apart. An event counts until exactly `withinMs` after its time. */
export function countOf(aspect: TallyAspect, tally: Tally | undefined, nowMs: number): number {
  if (tally === undefined) return 0;
  if ("count" in tally) return tally.count;
  const sinceMs = nowMs - (aspect.withinMs ?? Number.POSITIVE_INFINITY);
  // Newest first: all before the first that is out are in.
  let low = 0;
  let high = tally.times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((tally.times[middle] as number) > sinceMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** When the count falls in a way that the condition can tell: to its number, or to one below. */
export function nextChangeMs(aspect: TallyAspect, tally: Tally, nowMs: number): number | undefined {
  if (!("times" in tally) || aspect.withinMs === undefined) return undefined;
  const count = countOf(aspect, tally, nowMs);
  const oldest = tally.times[count - 1];
  return oldest === undefined || count < aspect.most - 1 ? undefined : oldest + aspect.withinMs;
}

/** The time of the latest event that is known. */
export function lastMs(tally: Tally | undefined): number | undefined {
  if (tally === undefined) return undefined;
  return "count" in tally ? tally.lastMs : tally.times[0];
}
