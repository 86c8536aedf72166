import { compare, type EventCondition, lookUp } from "@sluice/protocol";
import * as counts from "./count.js";
import type { Occurrence } from "./occurrence.js";
import * as values from "./value.js";

/**
 * What is aggregated of a user's events because a definition needs it: how often they did an event (a count), or a value made of a
 * property. Aggregates can be built in any order of events and merged in any order: history is read for a new spec while new
 * events are counted, and two profiles can become one.
 */
export type AggregateSpec = counts.CountSpec | values.ValueSpec;

export type AggregateState = counts.CountState | values.ValueState;

/** The count that an event condition needs. */
export function countSpecOf(condition: EventCondition): counts.CountSpec {
  const [count] = Object.values(condition.times) as number[];
  return {
    kind: "tally",
    event: condition.event,
    where: condition.where ?? [],
    ...(condition.withinMs === undefined ? {} : { withinMs: condition.withinMs }),
    most: (count ?? 0) + 1,
  };
}

/** The state with one more event; the same state if the spec does not count the event. */
export function withOccurrence(
  spec: AggregateSpec,
  state: AggregateState | undefined,
  occurrence: Occurrence,
  nowMs: number,
): AggregateState | undefined {
  if (spec.withinMs !== undefined && occurrence.atMs <= nowMs - spec.withinMs) return state;
  if (spec.kind === "tally") {
    for (const test of spec.where)
      if (!compare(lookUp(occurrence.properties, test.property), test.is, test.value)) return state;
    return counts.add(spec, state as counts.CountState | undefined, occurrence.atMs);
  }
  return values.add(spec, state as values.ValueState | undefined, occurrence, nowMs);
}

export function mergedState(spec: AggregateSpec, one: AggregateState, other: AggregateState): AggregateState {
  return spec.kind === "tally"
    ? counts.merge(spec, one as counts.CountState, other as counts.CountState)
    : values.merge(spec, one as values.ValueState, other as values.ValueState);
}

/** When the state changes by itself, because an event leaves the window; undefined if it never does. */
export function nextChangeMs(
  spec: AggregateSpec,
  state: AggregateState | undefined,
  nowMs: number,
): number | undefined {
  if (spec.withinMs === undefined || state === undefined) return undefined;
  return spec.kind === "tally"
    ? counts.nextChangeMs(spec, state as counts.CountState, nowMs)
    : values.nextChangeMs(spec, state as values.ValueState, nowMs);
}

/** Equal for two specs that need the same aggregate. */
export function specKey(spec: AggregateSpec): string {
  return JSON.stringify(spec);
}
