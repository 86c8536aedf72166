import { type EventCondition, lookUp } from "@sluice/protocol";
import {
  type Accumulation,
  type AccumulationAspect,
  figureNow,
  nothingOf,
} from "../conditions/accumulate.js";
import { merged, nextChangeMs } from "../conditions/aspect.js";
import { holds, type Reading } from "../conditions/evaluate.js";
import { countOf, type Tally, type TallyAspect } from "../conditions/tally.js";
import { afterSync, type DefinitionState, flows } from "../definitions/definition-state.js";
import { AUDIENCE, COMPUTED_TRAIT, type Definition } from "../definitions/definitions.js";
import type { Audience, ComputedTrait, Plan } from "../definitions/plan.js";
import { owedMessage, type Told } from "../profiles/owed-message.js";
import type { ComputedValue, Membership, Profile } from "../profiles/profile.js";
import { admitTrait } from "../profiles/profile-bounds.js";
import type { Step } from "../profiles/step.js";

export interface Definitions {
  readonly plan: Plan;
  readonly states: ReadonlyMap<string, DefinitionState>;
}

/** Somebody who was never in. */
const NEVER_IN: Membership = { isIn: false, sinceMs: 0, told: false, toldSeq: 0 };
const NO_VALUE: ComputedValue = { value: undefined, leftOut: 0, toldSeq: 0 };

/** A profile as conditions see it. */
export function readingOf(profile: Profile, plan: Plan, nowMs: number): Reading {
  return {
    trait: (name) => traitOf(profile, plan, name),
    count: (condition) => countIn(profile, plan, condition, nowMs),
    isMember: (audienceId) =>
      plan.definitions.has(audienceId) && (profile.memberships.get(audienceId)?.isIn ?? false),
  };
}

/** A computed trait's value, else the trait of that name, else the dotted path into one. */
function traitOf(profile: Profile, plan: Plan, name: string): unknown {
  const computed = plan.computedByKey.get(name);
  if (computed !== undefined) return profile.computed.get(computed.id)?.value;
  if (profile.traits.has(name)) return profile.traits.get(name);
  const dot = name.indexOf(".");
  return dot < 0 ? undefined : lookUp(profile.traits.get(name.slice(0, dot)), name.slice(dot + 1));
}

function countIn(profile: Profile, plan: Plan, condition: EventCondition, nowMs: number): number {
  const number = plan.aspectOf.get(condition) ?? -1;
  const aspect = plan.aspects.get(number) as TallyAspect;
  return countOf(aspect, profile.aspects.get(number) as Tally | undefined, nowMs);
}

/** What may have changed of a profile. */
export interface Touched {
  /** Aspects whose state changed. */
  readonly aspects: Iterable<number>;
  /** Names of traits. */
  readonly traits: Iterable<string>;
  /** Audiences that are evaluated in any case. */
  readonly audiences?: Iterable<Audience>;
}

/** Brings a profile's computed traits and memberships up to date with what changed of it, and owes what follows from it. */
export function keepUp(step: Step, { plan, states }: Definitions, profile: Profile, touched: Touched): void {
  /** Ranks of the audiences that are to be evaluated, ascending: each after those that its condition names. */
  const queue: number[] = [];
  const enlist = (audiences: Iterable<Audience> | undefined): void => {
    for (const audience of audiences ?? []) insert(queue, plan.rank.get(audience.id) as number);
  };
  for (const number of touched.aspects) {
    enlist(plan.audiencesByAspect.get(number));
    for (const computed of plan.computedByAspect.get(number) ?? []) {
      const state = states.get(computed.id);
      if (state === undefined || state.phase === "history") continue;
      if (compute(step, state, plan, computed, profile))
        enlist(plan.audiencesByTrait.get(computed.document.key));
    }
  }
  for (const trait of touched.traits) enlist(plan.audiencesByTrait.get(trait));
  enlist(touched.audiences);
  if (queue.length === 0) return;
  const reading = readingOf(profile, plan, step.nowMs);
  // What is enlisted meanwhile has a greater rank than what enlisted it: it is still to come.
  for (let at = 0; at < queue.length; at++) {
    const audience = plan.audiences[queue[at] as number] as Audience;
    const state = states.get(audience.id);
    if (state === undefined || state.phase === "history") continue;
    if (setMembership(step, state, audience, profile, holds(audience.document.condition, reading)))
      enlist(plan.dependents.get(audience.id));
  }
}

/** Puts a number into an ascending list, once. It mostly comes in order. */
function insert(ascending: number[], number: number): void {
  let at = ascending.length;
  while (at > 0 && (ascending[at - 1] as number) > number) at -= 1;
  if (at > 0 && ascending[at - 1] === number) return;
  if (at === ascending.length) ascending.push(number);
  else ascending.splice(at, 0, number);
}

/** Everything that a definition may owe for this profile is looked at anew: it was created, edited, or the profile merged. */
export function keepUpWith(
  step: Step,
  definitions: Definitions,
  profile: Profile,
  definition: Definition,
): void {
  if (definition.kind === AUDIENCE) {
    keepUp(step, definitions, profile, { aspects: [], traits: [], audiences: [definition] });
  } else {
    const number = definitions.plan.aspectOf.get(definition.document);
    if (number !== undefined) keepUp(step, definitions, profile, { aspects: [number], traits: [] });
  }
}

/** Stores when the profile must be looked at again. A time that is too early costs a look; so a later one replaces it only then. */
export function setDue(step: Step, plan: Plan, profile: Profile, isDue: boolean): void {
  let dueMs: number | undefined;
  for (const [number, state] of profile.aspects) {
    const aspect = plan.aspects.get(number);
    if (aspect === undefined) {
      // No definition asks for it any more.
      profile.aspects.delete(number);
      continue;
    }
    const changeMs = nextChangeMs(aspect, state, step.nowMs);
    if (changeMs !== undefined && (dueMs === undefined || changeMs < dueMs)) dueMs = changeMs;
  }
  const isEarlier = dueMs !== undefined && (profile.dueMs === undefined || dueMs < profile.dueMs);
  if (!isEarlier && !isDue) return;
  profile.dueMs = dueMs;
  step.touch(profile);
}

/**
 * Makes `gone` part of `profile`: counts are added up, the survivor's own traits win. What `gone` was a member of is told on
 * under the survivor's id: true if the survivor was not in and is now, false if only `gone` was in and now nobody is (unless the
 * destinations were told of the survivor before: its own values win there too).
 */
export function mergeInto(step: Step, definitions: Definitions, profile: Profile, gone: Profile): void {
  const { plan, states } = definitions;
  profile.firstSeenMs = Math.min(profile.firstSeenMs, gone.firstSeenMs);
  profile.lastSeenMs = Math.max(profile.lastSeenMs, gone.lastSeenMs);
  for (const identity of gone.identities) {
    profile.identities.push(identity);
    step.point(identity, profile.number);
  }
  for (const [name, value] of gone.traits) {
    if (!profile.traits.has(name) && admitTrait(profile, name, value, step.leftOut))
      profile.traits.set(name, value);
  }
  profile.leftOut.traits += gone.leftOut.traits;
  profile.leftOut.ids += gone.leftOut.ids;
  for (const [number, other] of gone.aspects) {
    const aspect = plan.aspects.get(number);
    if (aspect === undefined) continue;
    const own = profile.aspects.get(number);
    profile.aspects.set(number, own === undefined ? other : merged(aspect, own, other));
  }
  discount(step, states, gone);
  step.remove(gone);
  step.touch(profile);
  keepUp(step, definitions, profile, {
    aspects: plan.aspects.keys(),
    traits: [],
    audiences: plan.audiences,
  });
  for (const [id, was] of gone.memberships) {
    const state = states.get(id);
    const now = profile.memberships.get(id) ?? NEVER_IN;
    if (state === undefined || !was.told || now.isIn || now.toldSeq > 0) continue;
    setState(step, state, profile, now, { ...now, told: true });
  }
}

/** A profile goes: it is taken out of the definitions' figures. */
export function discount(step: Step, states: Definitions["states"], gone: Profile): void {
  for (const [id, { isIn, told }] of gone.memberships) {
    const state = states.get(id);
    if (state !== undefined) count(step, state, { size: -Number(isIn), held: -Number(isIn !== told) });
  }
  for (const [id, computed] of gone.computed) {
    const state = states.get(id);
    if (state?.definition.kind !== COMPUTED_TRAIT) continue;
    count(step, state, { held: -Number(!isTold(computed, state.definition)) });
    countLeftOut(step, state, computed.leftOut, 0);
  }
}

/** Whether it changed. */
function compute(
  step: Step,
  state: DefinitionState,
  plan: Plan,
  computed: ComputedTrait,
  profile: Profile,
): boolean {
  const number = plan.aspectOf.get(computed.document) ?? -1;
  const accumulation = profile.aspects.get(number) as Accumulation | undefined;
  const before = profile.computed.get(computed.id);
  // Who never did the event has no such trait.
  if (accumulation === undefined && before === undefined) return false;
  const { value, leftOut } = figureNow(
    plan.aspects.get(number) as AccumulationAspect,
    accumulation,
    step.nowMs,
  );
  const isSame = before !== undefined && JSON.stringify(before.value) === JSON.stringify(value);
  if (isSame && before.leftOut === leftOut) return false;
  setComputed(step, state, computed, profile, { ...(before ?? NO_VALUE), value, leftOut });
  return !isSame;
}

/** Whether it changed. */
function setMembership(
  step: Step,
  state: DefinitionState,
  { id }: Audience,
  profile: Profile,
  isIn: boolean,
): boolean {
  const before = profile.memberships.get(id) ?? NEVER_IN;
  if (before.isIn === isIn) return false;
  setState(step, state, profile, before, { ...before, isIn, sinceMs: step.nowMs });
  return true;
}

/** The one place where a membership changes: what differs from what was told is told or held. */
function setState(
  step: Step,
  state: DefinitionState,
  profile: Profile,
  before: Membership,
  changed: Membership,
): void {
  const { id } = state.definition;
  const isOwed = changed.isIn !== changed.told;
  const after =
    isOwed && flows(state, step.nowMs) && state.definition.kind === AUDIENCE
      ? tellMembership(step, state.definition, profile, changed)
      : changed;
  profile.memberships.set(id, after);
  step.touch(profile);
  if (before.isIn !== after.isIn) step.setMember(id, profile, after.isIn ? after.sinceMs : undefined);
  hold(step, state, profile, before.isIn !== before.told, after.isIn !== after.told);
  count(step, state, { size: Number(after.isIn) - Number(before.isIn) });
}

function setComputed(
  step: Step,
  state: DefinitionState,
  definition: ComputedTrait,
  profile: Profile,
  changed: ComputedValue,
): void {
  const before = profile.computed.get(definition.id) ?? NO_VALUE;
  const isOwed = !isTold(changed, definition);
  const after = isOwed && flows(state, step.nowMs) ? tellValue(step, definition, profile, changed) : changed;
  profile.computed.set(definition.id, after);
  step.touch(profile);
  hold(step, state, profile, !isTold(before, definition), !isTold(after, definition));
  countLeftOut(step, state, before.leftOut, after.leftOut);
}

/** Sends what was held of a profile. */
export function release(step: Step, state: DefinitionState, profile: Profile): void {
  const { definition } = state;
  if (definition.kind === AUDIENCE) {
    const membership = profile.memberships.get(definition.id) ?? NEVER_IN;
    profile.memberships.set(definition.id, tellMembership(step, definition, profile, membership));
  } else {
    const computed = profile.computed.get(definition.id) ?? NO_VALUE;
    profile.computed.set(definition.id, tellValue(step, definition, profile, computed));
  }
  step.touch(profile);
  hold(step, state, profile, true, false);
}

/** Tells destinations that were added what the others know already. */
export function tellAdded(
  step: Step,
  state: DefinitionState,
  profile: Profile,
  destinationIds: readonly string[],
  beforeSeq: number,
): void {
  const { id, kind, document } = state.definition;
  if (kind === AUDIENCE) {
    const membership = profile.memberships.get(id);
    if (membership === undefined || !membership.told || membership.toldSeq >= beforeSeq) return;
    owe(step, profile, destinationIds, { kind: "traits", key: document.key, value: true });
  } else {
    const computed = profile.computed.get(id);
    if (computed?.told === undefined || computed.toldSeq >= beforeSeq) return;
    const value: unknown = JSON.parse(computed.told);
    owe(step, profile, destinationIds, { kind: "traits", key: document.key, value });
  }
}

function tellMembership(
  step: Step,
  audience: Audience,
  profile: Profile,
  membership: Membership,
): Membership {
  const { isIn } = membership;
  const { key, destinationIds, trackEvents } = audience.document;
  if (destinationIds.length === 0) return { ...membership, told: isIn };
  const toldSeq = owe(step, profile, destinationIds, { kind: "traits", key, value: isIn });
  if (trackEvents)
    owe(step, profile, destinationIds, { kind: isIn ? "entered" : "exited", key, audienceId: audience.id });
  return { ...membership, told: isIn, toldSeq };
}

function tellValue(
  step: Step,
  { document }: ComputedTrait,
  profile: Profile,
  { value, leftOut, toldSeq }: ComputedValue,
): ComputedValue {
  const { key, destinationIds } = document;
  const sent = value ?? nothingOf(document.kind);
  const told = JSON.stringify(sent);
  if (destinationIds.length === 0) return { value, leftOut, told, toldSeq };
  return {
    value,
    leftOut,
    told,
    toldSeq: owe(step, profile, destinationIds, { kind: "traits", key, value: sent }),
  };
}

function owe(step: Step, profile: Profile, destinationIds: readonly string[], told: Told): number {
  const seq = step.takeSeq();
  const { nonce } = step.numbers;
  step.owed.push(owedMessage(told, profile, destinationIds, { seq, nonce, nowMs: step.nowMs }));
  return seq;
}

/** Whether the destinations know the value; that there is none need not be told to who never heard of one. */
export function isTold({ value, told }: ComputedValue, { document }: ComputedTrait): boolean {
  if (value === undefined && told === undefined) return true;
  return JSON.stringify(value ?? nothingOf(document.kind)) === told;
}

function hold(step: Step, state: DefinitionState, profile: Profile, wasHeld: boolean, isHeld: boolean): void {
  if (wasHeld === isHeld) return;
  // With nothing to tell, times of the schedule went by: the next one is meant, not one of those.
  if (isHeld && state.held === 0 && state.phase === "live") state.nextSyncAtMs = afterSync(state, step.nowMs);
  step.setHeld(state.definition.id, profile, isHeld);
  count(step, state, { held: Number(isHeld) - Number(wasHeld) });
}

function count(
  step: Step,
  state: DefinitionState,
  { size = 0, held = 0 }: { readonly size?: number; readonly held?: number },
): void {
  if (size === 0 && held === 0) return;
  state.size += size;
  state.held += held;
  step.stateChanged(state);
}

function countLeftOut(step: Step, state: DefinitionState, before: number, after: number): void {
  if (before === after) return;
  state.leftOut.events += after - before;
  state.leftOut.users += Number(after > 0) - Number(before > 0);
  step.stateChanged(state);
}
