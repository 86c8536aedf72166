import { emptyValueOf } from "../../conditions/value.js";
import type { Audience, ComputedTrait } from "../../definitions/definition-set.js";
import { afterSync, type DefinitionState, sendsAtOnce } from "../../definitions/definition-state.js";
import { AUDIENCE } from "../../definitions/definitions.js";
import { outboxMessage, type ProfileUpdate } from "../../profiles/outbox-message.js";
import type { ComputedValue, Membership, Profile } from "../../profiles/profile.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";

/*
 * Every change of a membership or a value goes through here. A value that differs from the published one is either added to the outbox at
 * once or held until the definition's next sync; the definition's stats are kept in step.
 */

/** The membership of a user who was never in. */
export const NEVER_IN: Membership = { isIn: false, sinceMs: 0, published: false, publishedSeq: 0 };
export const NO_VALUE: ComputedValue = { value: undefined, leftOut: 0, publishedSeq: 0 };

export function changeMembership(
  unit: UnitOfWork,
  state: DefinitionState,
  profile: Profile,
  before: Membership,
  changed: Membership,
): void {
  const { definition } = state;
  const differs = changed.isIn !== changed.published;
  const after =
    differs && definition.kind === AUDIENCE && sendsAtOnce(state, unit.nowMs)
      ? publishMembership(unit, definition, profile, changed)
      : changed;
  profile.memberships.set(definition.id, after);
  unit.touch(profile);
  if (before.isIn !== after.isIn)
    unit.setMember(definition.id, profile, after.isIn ? after.sinceMs : undefined);
  setHeld(unit, state, profile, before.isIn !== before.published, after.isIn !== after.published);
  addToStats(unit, state, { size: Number(after.isIn) - Number(before.isIn) });
}

export function changeValue(
  unit: UnitOfWork,
  state: DefinitionState,
  definition: ComputedTrait,
  profile: Profile,
  changed: ComputedValue,
): void {
  const before = profile.computed.get(definition.id) ?? NO_VALUE;
  const after =
    !isPublished(changed, definition) && sendsAtOnce(state, unit.nowMs)
      ? publishValue(unit, definition, profile, changed)
      : changed;
  profile.computed.set(definition.id, after);
  unit.touch(profile);
  setHeld(unit, state, profile, !isPublished(before, definition), !isPublished(after, definition));
  addLeftOut(unit, state, before.leftOut, after.leftOut);
}

/** Publishes what was held for a profile. */
export function publishHeld(unit: UnitOfWork, state: DefinitionState, profile: Profile): void {
  const { definition } = state;
  if (definition.kind === AUDIENCE) {
    const membership = profile.memberships.get(definition.id) ?? NEVER_IN;
    profile.memberships.set(definition.id, publishMembership(unit, definition, profile, membership));
  } else {
    const computed = profile.computed.get(definition.id) ?? NO_VALUE;
    profile.computed.set(definition.id, publishValue(unit, definition, profile, computed));
  }
  unit.touch(profile);
  setHeld(unit, state, profile, true, false);
}

/** Publishes to added destinations what the others have received already. */
export function publishToAdded(
  unit: UnitOfWork,
  state: DefinitionState,
  profile: Profile,
  destinationIds: readonly string[],
  beforeSeq: number,
): void {
  const { id, kind, document } = state.definition;
  if (kind === AUDIENCE) {
    const membership = profile.memberships.get(id);
    if (membership === undefined || !membership.published || membership.publishedSeq >= beforeSeq) return;
    addToOutbox(unit, profile, destinationIds, { kind: "traits", key: document.key, value: true });
  } else {
    const computed = profile.computed.get(id);
    if (computed?.published === undefined || computed.publishedSeq >= beforeSeq) return;
    const value: unknown = JSON.parse(computed.published);
    addToOutbox(unit, profile, destinationIds, { kind: "traits", key: document.key, value });
  }
}

function publishMembership(
  unit: UnitOfWork,
  audience: Audience,
  profile: Profile,
  membership: Membership,
): Membership {
  const { isIn } = membership;
  const { key, destinationIds, trackEvents } = audience.document;
  if (destinationIds.length === 0) return { ...membership, published: isIn };
  const publishedSeq = addToOutbox(unit, profile, destinationIds, { kind: "traits", key, value: isIn });
  if (trackEvents) {
    const kind = isIn ? "entered" : "exited";
    addToOutbox(unit, profile, destinationIds, { kind, key, audienceId: audience.id });
  }
  return { ...membership, published: isIn, publishedSeq };
}

function publishValue(
  unit: UnitOfWork,
  { document }: ComputedTrait,
  profile: Profile,
  { value, leftOut, publishedSeq }: ComputedValue,
): ComputedValue {
  const { key, destinationIds } = document;
  const sent = value ?? emptyValueOf(document.kind);
  const published = JSON.stringify(sent);
  if (destinationIds.length === 0) return { value, leftOut, published, publishedSeq };
  const seq = addToOutbox(unit, profile, destinationIds, { kind: "traits", key, value: sent });
  return { value, leftOut, published, publishedSeq: seq };
}

/** Returns the message's number. */
function addToOutbox(
  unit: UnitOfWork,
  profile: Profile,
  destinationIds: readonly string[],
  update: ProfileUpdate,
): number {
  const seq = unit.takeSeq();
  const { nonce } = unit.numbers;
  unit.outbox.push(outboxMessage(update, profile, destinationIds, { seq, nonce, nowMs: unit.nowMs }));
  return seq;
}

/** Whether destinations have the value. A missing value is only published to destinations that had one. */
export function isPublished({ value, published }: ComputedValue, { document }: ComputedTrait): boolean {
  if (value === undefined && published === undefined) return true;
  return JSON.stringify(value ?? emptyValueOf(document.kind)) === published;
}

function setHeld(
  unit: UnitOfWork,
  state: DefinitionState,
  profile: Profile,
  wasHeld: boolean,
  isHeld: boolean,
): void {
  if (wasHeld === isHeld) return;
  // While nothing was held, times of the schedule may have passed: it is held until the next one.
  if (isHeld && state.held === 0 && state.phase === "live") state.nextSyncAtMs = afterSync(state, unit.nowMs);
  unit.setHeld(state.definition.id, profile, isHeld);
  addToStats(unit, state, { held: Number(isHeld) - Number(wasHeld) });
}

export function addToStats(
  unit: UnitOfWork,
  state: DefinitionState,
  { size = 0, held = 0 }: { readonly size?: number; readonly held?: number },
): void {
  if (size === 0 && held === 0) return;
  state.size += size;
  state.held += held;
  unit.putState(state);
}

export function addLeftOut(unit: UnitOfWork, state: DefinitionState, before: number, after: number): void {
  if (before === after) return;
  state.leftOut.events += after - before;
  state.leftOut.users += Number(after > 0) - Number(before > 0);
  unit.putState(state);
}
