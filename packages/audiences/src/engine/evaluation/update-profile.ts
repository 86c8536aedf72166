import { holds } from "../../conditions/evaluate.js";
import { type ValueSpec, type ValueState, valueNow } from "../../conditions/value.js";
import type { Audience, ComputedTrait } from "../../definitions/definition-set.js";
import type { DefinitionState } from "../../definitions/definition-state.js";
import { AUDIENCE, type Definition } from "../../definitions/definitions.js";
import type { Profile } from "../../profiles/profile.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import type { EngineState } from "../state/engine-state.js";
import { readingOf } from "./profile-reading.js";
import { changeMembership, changeValue, NEVER_IN, NO_VALUE } from "./publish-changes.js";

/** What may have changed in a profile. */
export interface ProfileChanges {
  /** Numbers of aggregates whose state changed. */
  readonly aggregates: Iterable<number>;
  /** Names of traits. */
  readonly traits: Iterable<string>;
  /** Audiences that are evaluated in any case. */
  readonly audiences?: Iterable<Audience>;
}

/** What evaluation needs of the engine's state. */
export type Evaluated = Pick<EngineState, "definitions" | "states">;

/** Updates a profile's computed traits and memberships after changes, and adds the resulting messages to the outbox. */
export function updateProfile(
  unit: UnitOfWork,
  loaded: Evaluated,
  profile: Profile,
  changes: ProfileChanges,
): void {
  const { definitions, states } = loaded;
  /** Ranks of the audiences to evaluate, ascending: each after those that its condition names. */
  const queue: number[] = [];
  const enqueue = (audiences: Iterable<Audience> | undefined): void => {
    for (const audience of audiences ?? []) insert(queue, definitions.rank.get(audience.id) as number);
  };
  for (const number of changes.aggregates) {
    enqueue(definitions.audiencesBySpec.get(number));
    for (const computed of definitions.computedBySpec.get(number) ?? [])
      if (updateValue(unit, loaded, computed, profile))
        enqueue(definitions.audiencesByTrait.get(computed.document.key));
  }
  for (const trait of changes.traits) enqueue(definitions.audiencesByTrait.get(trait));
  enqueue(changes.audiences);
  if (queue.length === 0) return;
  const reading = readingOf(profile, definitions, unit.nowMs);
  // An audience enqueued here has a greater rank than the one that enqueued it, so it is still to come.
  for (let at = 0; at < queue.length; at++) {
    const audience = definitions.audiences[queue[at] as number] as Audience;
    const state = states.get(audience.id);
    if (state === undefined || state.phase === "history") continue;
    if (updateMembership(unit, state, profile, holds(audience.document.condition, reading)))
      enqueue(definitions.dependents.get(audience.id));
  }
}

/** Evaluates one definition for a profile: it is new or was edited, or the profile was merged. */
export function evaluateDefinition(
  unit: UnitOfWork,
  loaded: Evaluated,
  profile: Profile,
  definition: Definition,
): void {
  if (definition.kind === AUDIENCE) {
    updateProfile(unit, loaded, profile, { aggregates: [], traits: [], audiences: [definition] });
  } else {
    const number = loaded.definitions.specNumberOf.get(definition.document);
    if (number !== undefined) updateProfile(unit, loaded, profile, { aggregates: [number], traits: [] });
  }
}

/** Inserts a number into an ascending list, once. Numbers come mostly in order. */
function insert(ascending: number[], number: number): void {
  let at = ascending.length;
  while (at > 0 && (ascending[at - 1] as number) > number) at -= 1;
  if (at > 0 && ascending[at - 1] === number) return;
  if (at === ascending.length) ascending.push(number);
  else ascending.splice(at, 0, number);
}

/** Returns whether the value changed. */
function updateValue(
  unit: UnitOfWork,
  { definitions, states }: Evaluated,
  computed: ComputedTrait,
  profile: Profile,
): boolean {
  const state = states.get(computed.id);
  if (state === undefined || state.phase === "history") return false;
  const number = definitions.specNumberOf.get(computed.document) ?? -1;
  const aggregate = profile.aggregates.get(number) as ValueState | undefined;
  const before = profile.computed.get(computed.id);
  // A user without the event has no such trait.
  if (aggregate === undefined && before === undefined) return false;
  const { value, leftOut } = valueNow(definitions.specs.get(number) as ValueSpec, aggregate, unit.nowMs);
  const isSame = before !== undefined && JSON.stringify(before.value) === JSON.stringify(value);
  if (isSame && before.leftOut === leftOut) return false;
  changeValue(unit, state, computed, profile, { ...(before ?? NO_VALUE), value, leftOut });
  return !isSame;
}

/** Returns whether the membership changed. */
function updateMembership(
  unit: UnitOfWork,
  state: DefinitionState,
  profile: Profile,
  isIn: boolean,
): boolean {
  const before = profile.memberships.get(state.definition.id) ?? NEVER_IN;
  if (before.isIn === isIn) return false;
  changeMembership(unit, state, profile, before, { ...before, isIn, sinceMs: unit.nowMs });
  return true;
}
