import { asNumber, type ComputedTraitKind, lookUp } from "@sluice/protocol";
import {
  addDecimals,
  averageOf,
  type DecimalSum,
  decimalSumOf,
  decimalSumOfAll,
  numberOf,
} from "./decimal-sum.js";
import type { Occurrence } from "./occurrence.js";

/** What a computed trait's value is made of. Stored as it is: the field names and `accumulation` are a format. */
export interface ValueSpec {
  readonly kind: "accumulation";
  readonly of: ComputedTraitKind;
  readonly event: string;
  readonly property?: string;
  readonly withinMs?: number;
}

/** Different values of `most_frequent` and `unique_list` for each user. The first ones stay. */
export const MOST_VALUES = 1_000;
/** A value with more bytes of JSON is left out: it could not be sent together with others. */
export const MOST_VALUE_BYTES = 4_096;
/** Bytes of a list's JSON: the message that sends it stays under the limit of 32 KB. The first values stay. */
export const MOST_LIST_BYTES = 24_576;
/** Events in a window for each user. The latest ones stay. */
export const MOST_EVENTS = 10_000;
/** Bytes of the JSON of those events' values together. */
export const MOST_EVENTS_BYTES = 256 * 1_024;

/** One event's contribution to a value. */
interface Item {
  readonly atMs: number;
  readonly offset: number;
  readonly value: unknown;
}

/** Events that are not part of the value, because a limit was reached. */
interface LeftOut {
  readonly n: number;
  /** The time of the latest one. */
  readonly lastMs: number;
}

/** The events of one user that a value is made of. Stored as it is. Merging is commutative. */
export type ValueState = { readonly leftOut?: LeftOut } & (
  | /** count, sum, average, min, max, without a window. */
  { readonly n: number; readonly sum: DecimalSum; readonly min: number; readonly max: number }
  /** first and last, without a window; null if all events were left out. */
  | { readonly item: Item | null }
  /** most_frequent and unique_list, without a window. */
  | { readonly values: readonly Entry[] }
  /** All kinds, with a window: the events in it, oldest first. */
  | { readonly items: readonly Item[] }
);

/** A value, how often it came, and the time and offset of the first event with it. */
type Entry = readonly [value: unknown, times: number, atMs: number, offset: number];

/** The value at one moment. */
export interface ValueNow {
  /** Undefined if there are no events. */
  readonly value: unknown;
  /** Events that the value is made of. */
  readonly events: number;
  /** Events that are not part of it, because a limit was reached. */
  readonly leftOut: number;
}

export function add(
  spec: ValueSpec,
  state: ValueState | undefined,
  { atMs, offset, properties }: Occurrence,
  nowMs: number,
): ValueState | undefined {
  const value = contributionOf(spec, properties);
  if (value === undefined) return state;
  const item: Item = { atMs, offset, value };
  const isOver = isTooLarge(spec, value);
  if (spec.withinMs !== undefined) return addToWindow(state, item, nowMs - spec.withinMs, isOver);
  if (isOver) return leavingOut(state ?? emptyOf(spec), { n: 1, lastMs: atMs });
  const single = ofOne(spec, item);
  return state === undefined ? single : merge(spec, state, single);
}

function addToWindow(
  state: ValueState | undefined,
  item: Item,
  sinceMs: number,
  isTooLarge: boolean,
): ValueState {
  const leftOut = leftOutSince(state, sinceMs);
  const kept = state !== undefined && "items" in state ? since(state.items, sinceMs) : [];
  if (isTooLarge) return leavingOut(leavingOut({ items: kept }, leftOut), { n: 1, lastMs: item.atMs });
  // Events come nearly in order, so the search starts at the end.
  let place = kept.length;
  while (place > 0 && isBefore(item, kept[place - 1] as Item)) place -= 1;
  if (place === kept.length) kept.push(item);
  else kept.splice(place, 0, item);
  return leavingOut(latestOf(kept), leftOut);
}

export function merge(spec: ValueSpec, one: ValueState, other: ValueState): ValueState {
  return leavingOut(leavingOut(mergeKept(spec, one, other), one.leftOut), other.leftOut);
}

/** Merges two states, without the events that either left out before. */
function mergeKept(spec: ValueSpec, one: ValueState, other: ValueState): ValueState {
  if ("n" in one && "n" in other)
    return {
      n: one.n + other.n,
      sum: addDecimals(one.sum, other.sum),
      min: Math.min(one.min, other.min),
      max: Math.max(one.max, other.max),
    };
  if ("item" in one && "item" in other) {
    if (one.item === null || other.item === null) return { item: one.item ?? other.item };
    const isOneFirst = isBefore(one.item, other.item);
    return { item: (spec.of === "first") === isOneFirst ? one.item : other.item };
  }
  if ("values" in one && "values" in other) return differentOf([...one.values, ...other.values]);
  if ("items" in one && "items" in other)
    return latestOf([...one.items, ...other.items].sort((a, b) => (isBefore(a, b) ? -1 : 1)));
  return one;
}

/** The value of a state now. */
export function valueNow(spec: ValueSpec, state: ValueState | undefined, nowMs: number): ValueNow {
  const whole = state !== undefined && "items" in state ? ofWindow(spec, state, nowMs) : state;
  if (whole === undefined) return { value: undefined, events: 0, leftOut: 0 };
  return { value: valueIn(spec, whole), events: eventsIn(whole), leftOut: whole.leftOut?.n ?? 0 };
}

/** An event that a value is made of, or the first of several events with an equal value. */
export interface Part {
  readonly atMs: number;
  readonly offset: number;
  readonly value: unknown;
  /** How often the value came. */
  readonly times?: number;
}

/**
 * The events that a value is made of now, newest first; for `most_frequent` the most frequent first. Undefined if the state keeps only
 * a number.
 */
export function partsNow(spec: ValueSpec, state: ValueState, nowMs: number): readonly Part[] | undefined {
  const whole = "items" in state ? ofWindow(spec, state, nowMs) : state;
  if ("item" in whole) return whole.item === null ? [] : [whole.item];
  if ("values" in whole) {
    const parts = whole.values
      .map(([value, times, atMs, offset]) => ({ value, times, atMs, offset }))
      .reverse();
    return spec.of === "most_frequent" ? parts.sort((a, b) => b.times - a.times) : parts;
  }
  if (!("items" in state)) return undefined;
  return since(state.items, nowMs - (spec.withinMs ?? Number.POSITIVE_INFINITY)).reverse();
}

/** The events in the window, as a state without a window. */
function ofWindow(
  spec: ValueSpec,
  state: Extract<ValueState, { readonly items: unknown }>,
  nowMs: number,
): ValueState {
  const sinceMs = nowMs - (spec.withinMs ?? Number.POSITIVE_INFINITY);
  return leavingOut(ofAll(spec, since(state.items, sinceMs)), leftOutSince(state, sinceMs));
}

/** The state of ordered events. There may be ten thousand, and this runs for each new one. */
function ofAll(spec: ValueSpec, items: readonly Item[]): ValueState {
  if (spec.of === "first") return { item: items[0] ?? null };
  if (spec.of === "last") return { item: items.at(-1) ?? null };
  if (!isOfNumbers(spec)) return differentOf(items.map(asEntry));
  const numbers = items.map(({ value }) => value as number);
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of numbers) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { n: items.length, sum: decimalSumOfAll(numbers), min, max };
}

/** The ordered events after a time. */
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

function valueIn(spec: ValueSpec, state: ValueState): unknown {
  if ("item" in state) return state.item?.value;
  if ("values" in state) {
    if (spec.of === "unique_list" && state.values.length > 0) return state.values.map(([value]) => value);
    // Of several equally frequent values the one seen first wins.
    let most: Entry | undefined;
    for (const entry of state.values) if (most === undefined || entry[1] > most[1]) most = entry;
    return most?.[0];
  }
  if ("items" in state || state.n === 0) return undefined;
  switch (spec.of) {
    case "count":
      return state.n;
    case "sum":
      return numberOf(state.sum);
    case "average":
      return averageOf(state.sum, state.n);
    case "min":
      return state.min;
    default:
      return state.max;
  }
}

function eventsIn(state: ValueState): number {
  if ("n" in state) return state.n;
  if ("item" in state) return state.item === null ? 0 : 1;
  if ("items" in state) return state.items.length;
  return state.values.reduce((sum, [, times]) => sum + times, 0);
}

export function nextChangeMs(spec: ValueSpec, state: ValueState, nowMs: number): number | undefined {
  if (!("items" in state) || spec.withinMs === undefined) return undefined;
  const sinceMs = nowMs - spec.withinMs;
  const oldest =
    state.items.find((item) => item.atMs > sinceMs)?.atMs ?? leftOutSince(state, sinceMs)?.lastMs;
  return oldest === undefined ? undefined : oldest + spec.withinMs;
}

/** The value that is sent after all events have left the window. */
export function emptyValueOf(kind: ComputedTraitKind): unknown {
  if (kind === "count" || kind === "sum") return 0;
  return kind === "unique_list" ? [] : null;
}

/** What an event contributes; undefined if it has no such property. */
export function contributionOf(spec: ValueSpec, properties: unknown): unknown {
  if (spec.of === "count") return 1;
  const value = spec.property === undefined ? undefined : lookUp(properties, spec.property);
  switch (spec.of) {
    case "sum":
    case "average":
    case "min":
    case "max": {
      const number = asNumber(value);
      // Infinity would be null in JSON, and 0 after reading it again.
      return Number.isFinite(number) ? number : undefined;
    }
    case "first":
    case "last":
    case "most_frequent":
    case "unique_list":
      return value;
    default:
      return spec.of satisfies never;
  }
}

function isOfNumbers({ of }: ValueSpec): boolean {
  return of !== "first" && of !== "last" && of !== "most_frequent" && of !== "unique_list";
}

function isTooLarge(spec: ValueSpec, value: unknown): boolean {
  return !isOfNumbers(spec) && bytesOf(value) > MOST_VALUE_BYTES;
}

/** Without a window, for a kind that can leave values out for their size. */
function emptyOf(spec: ValueSpec): ValueState {
  return spec.of === "first" || spec.of === "last" ? { item: null } : { values: [] };
}

/** The state, with more events left out. */
function leavingOut(state: ValueState, more: LeftOut | undefined): ValueState {
  if (more === undefined) return state;
  const { n = 0, lastMs = more.lastMs } = state.leftOut ?? {};
  return { ...state, leftOut: { n: n + more.n, lastMs: Math.max(lastMs, more.lastMs) } };
}

/** The events left out of a window, while the latest of them would still be in it. */
function leftOutSince(state: ValueState | undefined, sinceMs: number): LeftOut | undefined {
  return (state?.leftOut?.lastMs ?? sinceMs) > sinceMs ? state?.leftOut : undefined;
}

function ofOne(spec: ValueSpec, item: Item): ValueState {
  if (spec.of === "first" || spec.of === "last") return { item };
  if (spec.of === "most_frequent" || spec.of === "unique_list") return { values: [asEntry(item)] };
  const value = item.value as number;
  return { n: 1, sum: decimalSumOf(value), min: value, max: value };
}

function asEntry(item: Item): Entry {
  return [item.value, 1, item.atMs, item.offset];
}

/** The different values, in the order in which they were seen first, bounded. */
function differentOf(entries: readonly Entry[]): ValueState {
  const primitives = new Map<unknown, Entry>();
  const objects = new Map<string, Entry>();
  const add = <Key>(byValue: Map<Key, Entry>, key: Key, entry: Entry): void => {
    const known = byValue.get(key);
    if (known === undefined) byValue.set(key, entry);
    else {
      const first = isSeenBefore(entry, known) ? entry : known;
      byValue.set(key, [first[0], known[1] + entry[1], first[2], first[3]]);
    }
  };
  for (const entry of entries) {
    if (typeof entry[0] === "object") add(objects, JSON.stringify(entry[0]), entry);
    else add(primitives, entry[0], entry);
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
    .reduce<ValueState>((state, [, n, lastMs]) => leavingOut(state, { n, lastMs }), {
      values: values.slice(0, tooMany),
    });
}

/** The latest of ordered events, bounded in number and bytes. */
function latestOf(items: readonly Item[]): ValueState {
  const over = Math.max(items.length - MOST_EVENTS, items.length - fitting(items));
  const oldest = items[over - 1];
  if (oldest === undefined) return { items };
  return { items: items.slice(over), leftOut: { n: over, lastMs: oldest.atMs } };
}

/** How many of the latest events have values that fit into `MOST_EVENTS_BYTES`. */
function fitting(items: readonly Item[]): number {
  // Few enough to fit even at their largest: no need to measure them.
  if (items.length * MOST_VALUE_BYTES <= MOST_EVENTS_BYTES) return items.length;
  let bytes = 0;
  for (let count = 0; count < items.length; count++) {
    const { value } = items[items.length - 1 - count] as Item;
    bytes += typeof value === "number" ? NUMBER_BYTES : bytesOf(value);
    if (bytes > MOST_EVENTS_BYTES) return count;
  }
  return items.length;
}
/** Less than the average number takes, so that ten thousand always fit. */
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
