import { compare, type EventCondition, lookUp } from "@sluice/protocol";
import * as accumulator from "./accumulate.js";
import type { Occurrence } from "./occurrence.js";
import * as tally from "./tally.js";

/**
 * One thing that is kept of a user's events because a definition asks for it: how often (a tally), or a figure made
 * of a property (an accumulation). An aspect's states can be made in any order of events and merged in any order:
 * history is read for a new aspect while new events are counted, and two profiles become one.
 */
export type Aspect = tally.TallyAspect | accumulator.AccumulationAspect;

export type AspectState = tally.Tally | accumulator.Accumulation;

/** The aspect that an event condition needs. */
export function tallyOf(condition: EventCondition): tally.TallyAspect {
  const [count] = Object.values(condition.times) as number[];
  return {
    kind: "tally",
    event: condition.event,
    where: condition.where ?? [],
    ...(condition.withinMs === undefined ? {} : { withinMs: condition.withinMs }),
    most: (count ?? 0) + 1,
  };
}

/** The state with one more event; the same state when the event does not matter to the aspect. */
export function withOccurrence(
  aspect: Aspect,
  state: AspectState | undefined,
  occurrence: Occurrence,
  nowMs: number,
): AspectState | undefined {
  if (aspect.withinMs !== undefined && occurrence.atMs <= nowMs - aspect.withinMs) return state;
  if (aspect.kind === "tally") {
    for (const test of aspect.where)
      if (!compare(lookUp(occurrence.properties, test.property), test.is, test.value)) return state;
    return tally.add(aspect, state as tally.Tally | undefined, occurrence.atMs);
  }
  return accumulator.add(aspect, state as accumulator.Accumulation | undefined, occurrence, nowMs);
}

export function merged(aspect: Aspect, one: AspectState, other: AspectState): AspectState {
  return aspect.kind === "tally"
    ? tally.merge(aspect, one as tally.Tally, other as tally.Tally)
    : accumulator.merge(aspect, one as accumulator.Accumulation, other as accumulator.Accumulation);
}

/** When the state says something else although nothing happened: an event leaves the window. Undefined: never. */
export function nextChangeMs(
  aspect: Aspect,
  state: AspectState | undefined,
  nowMs: number,
): number | undefined {
  if (aspect.withinMs === undefined || state === undefined) return undefined;
  return aspect.kind === "tally"
    ? tally.nextChangeMs(aspect, state as tally.Tally, nowMs)
    : accumulator.nextChangeMs(aspect, state as accumulator.Accumulation, nowMs);
}

/** Whether two aspects ask for the same thing, so that one state serves both. */
export function aspectKey(aspect: Aspect): string {
  return JSON.stringify(aspect);
}
