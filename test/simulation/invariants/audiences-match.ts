import type { StoredMessage } from "@sluice/event-log";
import type { Condition } from "@sluice/protocol";
import { everybody, holds, type Person, timesOf } from "../model/people.js";
import type { Scenario } from "../scenario/scenario.js";
import type { FinishedRun, Invariant } from "./invariant.js";

/** A window that ended this short before the end of the run may still count. */
const JUST_LEFT_MS = 10 * 60_000;

/** Audiences, against a model that reads the whole log. */
export const audiencesMatch: Invariant = {
  name: "audiences-match",
  promise:
    "What destinations were told about a user's audiences, and how often an event happened to the user, is what an evaluation of the whole log says, also when an event leaves a time window or visitors turn out to be users, and nobody is told the same twice in a row.",
  check(run) {
    const { scenario, cast, messages, dropped } = run;
    const { deletions, suppressed } = cast.history;
    // Notices and events are gone.
    if (dropped.length > 0 || suppressed.size > 0) return [];
    const own = new Set(cast.sources.map(({ id }) => id));
    const people = everybody(
      messages.filter((one) => own.has(one.sourceId) && one.onlyDestinations === undefined),
    );
    const deleted = new Set(deletions.map(({ identity }) => identity));
    const nowMs = cast.collector.machine.wallMs;
    const wrong: string[] = [];
    for (const { key, destinationIds, isTimed, valueAt } of toldThings(run)) {
      if (isTimed && isSetBack(scenario)) continue;
      for (const destinationId of destinationIds) {
        const told = toldTo(destinationId, key, messages);
        for (const [person, ids] of people) {
          // What a deletion left of a joint profile is another question.
          if (
            ids.some((id) => deleted.has(id)) ||
            deletions.some(({ identity }) => wasJoined(run, identity, ids))
          )
            continue;
          for (const id of ids)
            if (told.get(id)?.isTwice === true)
              wrong.push(`${destinationId} was told twice that ${id} in ${key} is ${told.get(id)?.value}`);
          const expected = valueAt(person, nowMs);
          if (valueAt(person, nowMs - JUST_LEFT_MS) !== expected) continue;
          const value = told.get(person.id)?.value ?? (typeof expected === "number" ? 0 : false);
          if (value !== expected)
            wrong.push(`${destinationId} believes ${person.id} in ${key}: ${value}, expected ${expected}`);
        }
      }
    }
    return wrong;
  },
};

/** What destinations are told of each person. */
interface Told {
  readonly key: string;
  readonly destinationIds: readonly string[];
  /** It changes as time passes. */
  readonly isTimed: boolean;
  readonly valueAt: (person: Person, atMs: number) => boolean | number;
}

function toldThings({ audiences, counts }: FinishedRun): Told[] {
  return [
    ...audiences.map(({ value: { key, condition, destinationIds } }) => ({
      key,
      destinationIds,
      isTimed: hasWindow(condition),
      valueAt: (person: Person, atMs: number) => holds(condition, person, atMs),
    })),
    ...counts.map(({ value: { key, destinationIds, withinMs } }) => ({
      key,
      destinationIds,
      isTimed: withinMs !== undefined,
      valueAt: (person: Person, atMs: number) => timesOf(person, "Happened", withinMs, atMs),
    })),
  ];
}

/** Whether one of the ids was joined to somebody who was deleted. */
function wasJoined({ cast }: FinishedRun, identity: string, ids: readonly string[]): boolean {
  for (const { userId, anonymousId, previousId } of cast.history.fields.values()) {
    const named = [`u:${userId}`, `a:${anonymousId}`, `u:${previousId}`, `a:${previousId}`];
    if (named.includes(identity) && named.some((one) => ids.includes(one))) return true;
  }
  return false;
}

/** The last value that a destination was told of each id. */
function toldTo(destinationId: string, key: string, messages: readonly StoredMessage[]) {
  const told = new Map<string, { readonly value: unknown; readonly isTwice: boolean }>();
  for (const { message, onlyDestinations } of messages) {
    const {
      userId,
      anonymousId,
      traits = {},
    } = message as {
      readonly userId?: string;
      readonly anonymousId?: string;
      readonly traits?: Readonly<Record<string, unknown>>;
    };
    if (onlyDestinations?.includes(destinationId) !== true || traits[key] === undefined) continue;
    const id = userId === undefined ? `a:${anonymousId}` : `u:${userId}`;
    const before = told.get(id);
    told.set(id, { value: traits[key], isTwice: before?.isTwice === true || before?.value === traits[key] });
  }
  return told;
}

function hasWindow(condition: Condition): boolean {
  if (condition.kind === "and" || condition.kind === "or") return condition.conditions.some(hasWindow);
  if (condition.kind === "not") return hasWindow(condition.condition);
  return condition.kind === "event" && condition.withinMs !== undefined;
}

/** Whether the collector's clock was set back. An event that had left a window by the later time does not come back. */
function isSetBack({ steps }: Scenario): boolean {
  return steps.some(
    (step) => (step.kind === "clock" || step.kind === "crash") && step.of === "collector" && step.jumpMs < 0,
  );
}
