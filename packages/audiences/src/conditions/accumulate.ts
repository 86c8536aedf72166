import { asNumber, type ComputedTraitKind, lookUp } from "@sluice/protocol";
import type { Occurrence } from "./occurrence.js";

/** What a figure is made of. */
export interface AccumulationAspect {
  readonly kind: "accumulation";
  readonly of: ComputedTraitKind;
  readonly event: string;
  readonly property?: string;
  readonly withinMs?: number;
}

/** Values of a list, and different values that are counted, at most so many a user: the first seen stay. */
export const MOST_VALUES = 1_000;
/** A value whose JSON has more bytes is taken for none: it cannot be sent beside others. */
export const MOST_VALUE_BYTES = 4_096;
/** Bytes of a list's JSON, at most: the message that sends it stays under the 32 KB of any message. The first seen stay. */
export const MOST_LIST_BYTES = 24_576;
/** Events within a window that a computed trait is made of, at most so many a user: the latest stay. */
export const MOST_EVENTS = 10_000;

/** Bytes of the JSON of those events' values together, at most. */
export const MOST_EVENTS_BYTES = 256 * 1_024;

/** One event's part in a figure. */
interface Item {
  readonly atMs: number;
  readonly offset: number;
  readonly value: unknown;
}

/** Events of which nothing is in the value, because a limit was reached. */
interface LeftOut {
  readonly n: number;
  /** The time of the latest of them. */
  readonly lastMs: number;
}

/** What a computed trait is made of, of one user. Merging is commutative: see `Aspect`. */
export type Accumulation = { readonly leftOut?: LeftOut } & (
  | /** count, sum, average, min, max without a window. */
  { readonly n: number; readonly sum: number; readonly min: number; readonly max: number }
  /** first and last without a window; null: all were left out. */
  | { readonly item: Item | null }
  /** most_frequent and unique_list without a window. */
  | { readonly values: readonly Entry[] }
  /** All kinds with a window: the events within it, oldest first. */
  | { readonly items: readonly Item[] }
);

/** A value, how often it came, and where it was seen first. */
type Entry = readonly [value: unknown, times: number, atMs: number, offset: number];

/** What a state amounts to at one moment. */
export interface Figure {
  /** Undefined when there is nothing to make it of. */
  readonly value: unknown;
  /** Events that it is made of. */
  readonly events: number;
  /** Events of which nothing is in it, because a limit was reached. */
  readonly leftOut: number;
}

export function add(
  aspect: AccumulationAspect,
  state: Accumulation | undefined,
  { atMs, offset, properties }: Occurrence,
  nowMs: number,
): Accumulation | undefined {
  const value = contributionOf(aspect, properties);
  if (value === undefined) return state;
  const item: Item = { atMs, offset, value };
  const tooLarge = isTooLarge(aspect, value) ? { n: 1, lastMs: atMs } : undefined;
  if (aspect.withinMs !== undefined) {
    const sinceMs = nowMs - aspect.withinMs;
    const leftOut = leftOutSince(state, sinceMs);
    const kept = state !== undefined && "items" in state ? since(state.items, sinceMs) : [];
    if (tooLarge !== undefined) return leavingOut(leavingOut({ items: kept }, leftOut), tooLarge);
    // Events come nearly in order: the place is looked for from the end.
    let place = kept.length;
    while (place > 0 && isBefore(item, kept[place - 1] as Item)) place -= 1;
    if (place === kept.length) kept.push(item);
    else kept.splice(place, 0, item);
    return leavingOut(latestOf(kept), leftOut);
  }
  if (tooLarge !== undefined) return leavingOut(state ?? emptyOf(aspect), tooLarge);
  const single = ofOne(aspect, item);
  return state === undefined ? single : merge(aspect, state, single);
}

export function merge(aspect: AccumulationAspect, one: Accumulation, other: Accumulation): Accumulation {
  return leavingOut(leavingOut(mergeKept(aspect, one, other), one.leftOut), other.leftOut);
}

/** Both without what either left out before. */
function mergeKept(aspect: AccumulationAspect, one: Accumulation, other: Accumulation): Accumulation {
  if ("n" in one && "n" in other)
    return {
      n: one.n + other.n,
      sum: inRange(one.sum + other.sum),
      min: Math.min(one.min, other.min),
      max: Math.max(one.max, other.max),
    };
  if ("item" in one && "item" in other) {
    if (one.item === null || other.item === null) return { item: one.item ?? other.item };
    const isOneFirst = isBefore(one.item, other.item);
    return { item: (aspect.of === "first") === isOneFirst ? one.item : other.item };
  }
  if ("values" in one && "values" in other) return differentOf([...one.values, ...other.values]);
  if ("items" in one && "items" in other)
    return latestOf([...one.items, ...other.items].sort((a, b) => (isBefore(a, b) ? -1 : 1)));
  return one;
}

/** What the state amounts to now. */
export function figureNow(
  aspect: AccumulationAspect,
  state: Accumulation | undefined,
  nowMs: number,
): Figure {
  const whole = state !== undefined && "items" in state ? ofWindow(aspect, state, nowMs) : state;
  if (whole === undefined) return { value: undefined, events: 0, leftOut: 0 };
  return { value: valueIn(aspect, whole), events: eventsIn(whole), leftOut: whole.leftOut?.n ?? 0 };
}

/** An event, or the first of those with an equal value, that a value is made of. */
export interface Part {
  readonly atMs: number;
  readonly offset: number;
  readonly value: unknown;
  /** How often the value came. */
  readonly times?: number;
}

/** What a value is made of now, newest first (the most frequent value: by how often). Undefined where only the figure is kept. */
export function partsNow(
  aspect: AccumulationAspect,
  state: Accumulation,
  nowMs: number,
): readonly Part[] | undefined {
  const whole = "items" in state ? ofWindow(aspect, state, nowMs) : state;
  if ("item" in whole) return whole.item === null ? [] : [whole.item];
  if ("values" in whole) {
    const parts = whole.values
      .map(([value, times, atMs, offset]) => ({ value, times, atMs, offset }))
      .reverse();
    return aspect.of === "most_frequent" ? parts.sort((a, b) => b.times - a.times) : parts;
  }
  if (!("items" in state)) return undefined;
  return since(state.items, nowMs - (aspect.withinMs ?? Number.POSITIVE_INFINITY)).reverse();
}

/** The events of the window as if there were none but them. */
function ofWindow(
  aspect: AccumulationAspect,
  state: Extract<Accumulation, { readonly items: unknown }>,
  nowMs: number,
): Accumulation {
  const sinceMs = nowMs - (aspect.withinMs ?? Number.POSITIVE_INFINITY);
  return leavingOut(ofAll(aspect, since(state.items, sinceMs)), leftOutSince(state, sinceMs));
}

/** What ordered events amount to. There may be ten thousand, and this is asked for each that comes. */
function ofAll(aspect: AccumulationAspect, items: readonly Item[]): Accumulation {
  if (aspect.of === "first") return { item: items[0] ?? null };
  if (aspect.of === "last") return { item: items.at(-1) ?? null };
  if (!isOfNumbers(aspect)) return differentOf(items.map(asEntry));
  let [sum, min, max] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const item of items) {
    const value = item.value as number;
    sum = inRange(sum + value);
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { n: items.length, sum, min, max };
}

/** Those of ordered events that are later. */
function since(items: readonly Item[], sinceMs: number): Item[] {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items[middle] as Item).atMs > sinceMs) high = middle;
    else low = middle + 1;
  }
  return items.slice(low);
}

function valueIn(aspect: AccumulationAspect, state: Accumulation): unknown {
  if ("item" in state) return state.item?.value;
  if ("values" in state) {
    if (aspect.of === "unique_list" && state.values.length > 0) return state.values.map(([value]) => value);
    // Of several that are equally frequent the one seen first.
    let most: Entry | undefined;
    for (const entry of state.values) if (most === undefined || entry[1] > most[1]) most = entry;
    return most?.[0];
  }
  if ("items" in state || state.n === 0) return undefined;
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

function eventsIn(state: Accumulation): number {
  if ("n" in state) return state.n;
  if ("item" in state) return state.item === null ? 0 : 1;
  if ("items" in state) return state.items.length;
  return state.values.reduce((sum, [, times]) => sum + times, 0);
}

export function nextChangeMs(
  aspect: AccumulationAspect,
  state: Accumulation,
  nowMs: number,
): number | undefined {
  if (!("items" in state) || aspect.withinMs === undefined) return undefined;
  const sinceMs = nowMs - aspect.withinMs;
  const oldest =
    state.items.find((item) => item.atMs > sinceMs)?.atMs ?? leftOutSince(state, sinceMs)?.lastMs;
  return oldest === undefined ? undefined : oldest + aspect.withinMs;
}

/** What is sent when a value is gone because all its events left the window. */
export function nothingOf(kind: ComputedTraitKind): unknown {
  if (kind === "count" || kind === "sum") return 0;
  return kind === "unique_list" ? [] : null;
}

/** What an event contributes; undefined when it has nothing of the sort. */
export function contributionOf(aspect: AccumulationAspect, properties: unknown): unknown {
  if (aspect.of === "count") return 1;
  const value = aspect.property === undefined ? undefined : lookUp(properties, aspect.property);
  switch (aspect.of) {
    case "sum":
    case "average":
    case "min":
    case "max": {
      const number = asNumber(value);
      // What no double holds would be null in JSON, and come back as 0.
      return Number.isFinite(number) ? number : undefined;
    }
    case "first":
    case "last":
    case "most_frequent":
    case "unique_list":
      return value;
    default:
      return aspect.of satisfies never;
  }
}

function isOfNumbers({ of }: AccumulationAspect): boolean {
  return of !== "first" && of !== "last" && of !== "most_frequent" && of !== "unique_list";
}

function isTooLarge(aspect: AccumulationAspect, value: unknown): boolean {
  return !isOfNumbers(aspect) && bytesOf(value) > MOST_VALUE_BYTES;
}

/** Without a window, of a kind that can leave values out for their size. */
function emptyOf(aspect: AccumulationAspect): Accumulation {
  return aspect.of === "first" || aspect.of === "last" ? { item: null } : { values: [] };
}

/** The state with more that was left out. */
function leavingOut(state: Accumulation, more: LeftOut | undefined): Accumulation {
  if (more === undefined) return state;
  const { n = 0, lastMs = more.lastMs } = state.leftOut ?? {};
  return { ...state, leftOut: { n: n + more.n, lastMs: Math.max(lastMs, more.lastMs) } };
}

/** What was left out of a window, as long as some of it would still be in. */
function leftOutSince(state: Accumulation | undefined, sinceMs: number): LeftOut | undefined {
  return (state?.leftOut?.lastMs ?? sinceMs) > sinceMs ? state?.leftOut : undefined;
}

/** A sum beyond what doubles hold stays at their end: infinity is null in JSON, and would come back as 0. */
function inRange(sum: number): number {
  return Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, sum));
}

function ofOne(aspect: AccumulationAspect, item: Item): Accumulation {
  if (aspect.of === "first" || aspect.of === "last") return { item };
  if (aspect.of === "most_frequent" || aspect.of === "unique_list") return { values: [asEntry(item)] };
  const value = item.value as number;
  return { n: 1, sum: value, min: value, max: value };
}

function asEntry(item: Item): Entry {
  return [item.value, 1, item.atMs, item.offset];
}

/** Equal values become one; in order of first sight, bounded. */
function differentOf(entries: readonly Entry[]): Accumulation {
  const primitives = new Map<unknown, Entry>();
  const objects = new Map<string, Entry>();
  const take = <Key>(byValue: Map<Key, Entry>, key: Key, entry: Entry): void => {
    const known = byValue.get(key);
    if (known === undefined) byValue.set(key, entry);
    else {
      const first = isSeenBefore(entry, known) ? entry : known;
      byValue.set(key, [first[0], known[1] + entry[1], first[2], first[3]]);
    }
  };
  for (const entry of entries) {
    if (typeof entry[0] === "object") take(objects, JSON.stringify(entry[0]), entry);
    else take(primitives, entry[0], entry);
  }
  const values = [...primitives.values(), ...objects.values()].sort((a, b) => (isSeenBefore(a, b) ? -1 : 1));
  let bytes = 2;
  const tooMany = values.findIndex((entry, at) => {
    bytes += bytesOf(entry[0]) + 1;
    return at >= MOST_VALUES || bytes > MOST_LIST_BYTES;
  });
  if (tooMany < 0) return { values };
  return values
    .slice(tooMany)
    .reduce<Accumulation>((state, [, n, lastMs]) => leavingOut(state, { n, lastMs }), {
      values: values.slice(0, tooMany),
    });
}

/** The latest of ordered events, bounded. */
function latestOf(items: readonly Item[]): Accumulation {
  const over = Math.max(items.length - MOST_EVENTS, items.length - fitting(items));
  const oldest = items[over - 1];
  if (oldest === undefined) return { items };
  return { items: items.slice(over), leftOut: { n: over, lastMs: oldest.atMs } };
}

/** How many of the latest have values that fit together. */
function fitting(items: readonly Item[]): number {
  // As long as they fit at their largest, they need not be looked at.
  if (items.length * MOST_VALUE_BYTES <= MOST_EVENTS_BYTES) return items.length;
  let bytes = 0;
  for (let count = 0; count < items.length; count++) {
    const { value } = items[items.length - 1 - count] as Item;
    bytes += typeof value === "number" ? NUMBER_BYTES : bytesOf(value);
    if (bytes > MOST_EVENTS_BYTES) return count;
  }
  return items.length;
}
/** Less than a number takes on the average: ten thousand of them always fit. */
const NUMBER_BYTES = 8;

function bytesOf(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
}

function isSeenBefore(one: Entry, other: Entry): boolean {
  return one[2] < other[2] || (one[2] === other[2] && one[3] < other[3]);
}

function isBefore(one: Item, other: Item): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.offset < other.offset);
}
