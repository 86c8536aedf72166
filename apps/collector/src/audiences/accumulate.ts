import type { ComputedTraitKind } from "@sluice/protocol";
import type { AccumulationAspect, Occurrence } from "./aspect.js";
import { asNumber, lookUp } from "./compare.js";

/** Values of a list, and different values that are counted, at most so many a user: the first seen stay. */
export const MOST_VALUES = 1_000;
/** A value whose JSON has more bytes is taken for none: it cannot be sent beside others. */
export const MOST_VALUE_BYTES = 4_096;
/** Bytes of a list's JSON, at most: the message that sends it stays under the 32 KB of any message. The first seen stay. */
export const MOST_LIST_BYTES = 24_576;
/** Events within a window that a computed trait is made of, at most so many a user: the latest stay. */
export const MOST_EVENTS = 10_000;

/** One event's part in a figure. */
interface Item {
  readonly atMs: number;
  readonly offset: number;
  readonly value: unknown;
}

/** What a computed trait is made of, of one user. Merging is commutative: see `Aspect`. */
export type Accumulation =
  /** count, sum, average, min, max without a window. */
  | { readonly n: number; readonly sum: number; readonly min: number; readonly max: number }
  /** first and last without a window. */
  | { readonly item: Item }
  /** most_frequent and unique_list without a window: value, how often, and where it was seen first. */
  | { readonly values: readonly (readonly [value: unknown, times: number, atMs: number, offset: number])[] }
  /** All kinds with a window: the events within it, oldest first. */
  | { readonly items: readonly Item[] };

export function add(
  aspect: AccumulationAspect,
  state: Accumulation | undefined,
  { atMs, offset, properties }: Occurrence,
  nowMs: number,
): Accumulation | undefined {
  const value = contributionOf(aspect, properties);
  if (value === undefined) return state;
  const item: Item = { atMs, offset, value };
  if (aspect.withinMs !== undefined) {
    const sinceMs = nowMs - aspect.withinMs;
    const items = state !== undefined && "items" in state ? state.items : [];
    const kept = items.filter((one) => one.atMs > sinceMs);
    // Events come nearly in order: the place is looked for from the end.
    let place = kept.length;
    while (place > 0 && isBefore(item, kept[place - 1] as Item)) place -= 1;
    kept.splice(place, 0, item);
    return { items: kept.slice(-MOST_EVENTS) };
  }
  const single = ofOne(aspect, item);
  return state === undefined ? single : merge(aspect, state, single);
}

export function merge(aspect: AccumulationAspect, one: Accumulation, other: Accumulation): Accumulation {
  if ("n" in one && "n" in other)
    return {
      n: one.n + other.n,
      sum: one.sum + other.sum,
      min: Math.min(one.min, other.min),
      max: Math.max(one.max, other.max),
    };
  if ("item" in one && "item" in other) {
    const isOneFirst = isBefore(one.item, other.item);
    return (aspect.of === "first") === isOneFirst ? one : other;
  }
  if ("values" in one && "values" in other) return { values: mergeValues(one.values, other.values) };
  if ("items" in one && "items" in other) {
    const items = [...one.items, ...other.items].sort((a, b) => (isBefore(a, b) ? -1 : 1));
    return { items: items.slice(-MOST_EVENTS) };
  }
  return one;
}

/** The trait's value now; undefined when there is nothing to make it of. */
export function valueNow(
  aspect: AccumulationAspect,
  state: Accumulation | undefined,
  nowMs: number,
): unknown {
  if (state === undefined) return undefined;
  if ("items" in state) {
    const sinceMs = nowMs - (aspect.withinMs ?? Number.POSITIVE_INFINITY);
    let total: Accumulation | undefined;
    const { withinMs: _, ...unbounded } = aspect;
    const within = state.items.filter((item) => item.atMs > sinceMs);
    if (aspect.of === "most_frequent" || aspect.of === "unique_list")
      return valueNow(unbounded, { values: mergeValues([], within.map(asEntry)) }, nowMs);
    for (const item of within) {
      const single = ofOne(unbounded, item);
      total = total === undefined ? single : merge(unbounded, total, single);
    }
    return valueNow(unbounded, total, nowMs);
  }
  if ("item" in state) return state.item.value;
  if ("values" in state) {
    if (aspect.of === "unique_list" && state.values.length > 0) return state.values.map(([value]) => value);
    // Of several that are equally frequent the one seen first.
    let most: (typeof state.values)[number] | undefined;
    for (const entry of state.values) if (most === undefined || entry[1] > most[1]) most = entry;
    return most?.[0];
  }
  switch (aspect.of) {
    case "count":
      return state.n;
    case "sum":
      return state.sum;
    case "average":
      return state.sum / state.n;
    case "min":
      return state.min;
    default:
      return state.max;
  }
}

export function nextChangeMs(
  aspect: AccumulationAspect,
  state: Accumulation,
  nowMs: number,
): number | undefined {
  if (!("items" in state) || aspect.withinMs === undefined) return undefined;
  const sinceMs = nowMs - aspect.withinMs;
  const oldest = state.items.find((item) => item.atMs > sinceMs);
  return oldest === undefined ? undefined : oldest.atMs + aspect.withinMs;
}

/** What is sent when a value is gone because all its events left the window. */
export function nothingOf(kind: ComputedTraitKind): unknown {
  if (kind === "count" || kind === "sum") return 0;
  return kind === "unique_list" ? [] : null;
}

/** What an event contributes; undefined when it has nothing of the sort. */
function contributionOf(aspect: AccumulationAspect, properties: unknown): unknown {
  if (aspect.of === "count") return 1;
  const value = aspect.property === undefined ? undefined : lookUp(properties, aspect.property);
  switch (aspect.of) {
    case "sum":
    case "average":
    case "min":
    case "max":
      return asNumber(value);
    case "first":
    case "last":
    case "most_frequent":
    case "unique_list":
      return bytesOf(value) > MOST_VALUE_BYTES ? undefined : value;
    default:
      return aspect.of satisfies never;
  }
}

function ofOne(aspect: AccumulationAspect, item: Item): Accumulation {
  if (aspect.of === "first" || aspect.of === "last") return { item };
  if (aspect.of === "most_frequent" || aspect.of === "unique_list") return { values: [asEntry(item)] };
  const value = item.value as number;
  return { n: 1, sum: value, min: value, max: value };
}

type Entry = readonly [value: unknown, times: number, atMs: number, offset: number];

function asEntry(item: Item): Entry {
  return [item.value, 1, item.atMs, item.offset];
}

/** Equal values become one; in order of first sight, bounded. */
function mergeValues(one: readonly Entry[], other: readonly Entry[]): readonly Entry[] {
  const byValue = new Map<string, Entry>();
  for (const entry of [...one, ...other]) {
    const key = JSON.stringify(entry[0]);
    const known = byValue.get(key);
    if (known === undefined) byValue.set(key, entry);
    else {
      const first = isSeenBefore(entry, known) ? entry : known;
      byValue.set(key, [first[0], known[1] + entry[1], first[2], first[3]]);
    }
  }
  const values = [...byValue.values()].sort((a, b) => (isSeenBefore(a, b) ? -1 : 1));
  let bytes = 2;
  const tooMany = values.findIndex((entry, at) => {
    bytes += bytesOf(entry[0]) + 1;
    return at >= MOST_VALUES || bytes > MOST_LIST_BYTES;
  });
  return tooMany < 0 ? values : values.slice(0, tooMany);
}

function bytesOf(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
}

function isSeenBefore(one: Entry, other: Entry): boolean {
  return one[2] < other[2] || (one[2] === other[2] && one[3] < other[3]);
}

function isBefore(one: Item, other: Item): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.offset < other.offset);
}
