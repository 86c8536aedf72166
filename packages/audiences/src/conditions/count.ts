import type { PropertyTest } from "@sluice/protocol";

/** Which events are counted. Stored as it is: the field names and `tally` are a format. */
export interface CountSpec {
  readonly kind: "tally";
  readonly event: string;
  readonly where: readonly PropertyTest[];
  readonly withinMs?: number;
  /** The condition cannot tell greater counts apart: one more than its number. */
  readonly most: number;
}

/**
 * How often a user did an event. Without a window: the number, and the time of the latest event. With a window: the latest times, newest
 * first, at most `most` of them, because older events leave the window first.
 */
export type CountState =
  | { readonly count: number; readonly lastMs: number }
  | { readonly times: readonly number[] };

export function add(spec: CountSpec, state: CountState | undefined, atMs: number): CountState {
  if (spec.withinMs === undefined) {
    return state !== undefined && "count" in state
      ? { count: state.count + 1, lastMs: Math.max(state.lastMs, atMs) }
      : { count: 1, lastMs: atMs };
  }
  const times = state !== undefined && "times" in state ? state.times : [];
  const place = times.findIndex((time) => time <= atMs);
  const next = times.toSpliced(place < 0 ? times.length : place, 0, atMs);
  if (next.length > spec.most) next.length = spec.most;
  return { times: next };
}

export function merge(spec: CountSpec, one: CountState, other: CountState): CountState {
  if ("count" in one && "count" in other)
    return { count: one.count + other.count, lastMs: Math.max(one.lastMs, other.lastMs) };
  const times = [...("times" in one ? one.times : []), ...("times" in other ? other.times : [])];
  return { times: times.sort((a, b) => b - a).slice(0, spec.most) };
}

/** The count, at most `most` with a window. An event counts until exactly `withinMs` after its time. */
export function countOf(spec: CountSpec, state: CountState | undefined, nowMs: number): number {
  if (state === undefined) return 0;
  if ("count" in state) return state.count;
  const sinceMs = nowMs - (spec.withinMs ?? Number.POSITIVE_INFINITY);
  // A binary search: the times are newest first.
  let low = 0;
  let high = state.times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((state.times[middle] as number) > sinceMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** When the count falls to the condition's number or to one below, which may change its result. */
export function nextChangeMs(spec: CountSpec, state: CountState, nowMs: number): number | undefined {
  if (!("times" in state) || spec.withinMs === undefined) return undefined;
  const count = countOf(spec, state, nowMs);
  const oldest = state.times[count - 1];
  return oldest === undefined || count < spec.most - 1 ? undefined : oldest + spec.withinMs;
}

/** The time of the latest event. */
export function lastMs(state: CountState | undefined): number | undefined {
  if (state === undefined) return undefined;
  return "count" in state ? state.lastMs : state.times[0];
}
