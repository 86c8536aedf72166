import type { Occurrence } from "../../conditions/occurrence.js";
import type { Profile } from "../../profiles/profile.js";
import { takeTraits } from "../../profiles/profile-bounds.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import { setDue, updateDue } from "../evaluation/due-time.js";
import { updateProfile } from "../evaluation/update-profile.js";
import type { EngineState } from "../state/engine-state.js";
import type { AddressedMessage } from "./addressed-message.js";
import { seenAs } from "./fetch-profiles.js";
import { joinIds } from "./join-ids.js";
import type { IsNeeded } from "./read-messages.js";
import { takeOccurrence } from "./take-occurrence.js";
import { occurrenceOf, timeOf } from "./track-events.js";

/** Applies a message to its user's profile: ids, traits, events, and the memberships and values that depend on them. */
export function takeMessage(
  unit: UnitOfWork,
  loaded: EngineState,
  stored: AddressedMessage,
  isNeeded: IsNeeded,
): void {
  const { message, identification } = stored;
  const { definitions } = loaded;
  const atMs = timeOf(stored);
  if (!isNeeded(message.type, message.event)) {
    const number = seenAs(unit, identification);
    if (number !== undefined) {
      unit.see(number, atMs);
      return;
    }
  }
  const known = unit.find(identification.own);
  const profile = known ?? unit.create(identification.own, atMs);
  if (profile.dueMs !== undefined && profile.dueMs <= unit.nowMs) updateDue(unit, loaded, profile);
  profile.firstSeenMs = Math.min(profile.firstSeenMs, atMs);
  profile.lastSeenMs = Math.max(profile.lastSeenMs, atMs);
  unit.touch(profile);

  if (!joinIds(unit, loaded, profile, stored)) unit.refuseJoin(stored.sourceId);
  const traits = message.type === "identify" ? takeTraits(profile, message.traits, unit.leftOut) : [];
  const aggregates = takeEvent(unit, loaded, profile, stored);
  const audiences = known === undefined ? definitions.ofNewProfiles : [];
  updateProfile(unit, loaded, profile, { aggregates, traits, audiences });
  if (aggregates.length > 0) setDue(unit, definitions, profile, false);
}

/** Returns the numbers of the aggregates that changed. */
function takeEvent(
  unit: UnitOfWork,
  { definitions }: EngineState,
  profile: Profile,
  stored: AddressedMessage,
): number[] {
  const { message } = stored;
  const changed: number[] = [];
  if (message.type !== "track" || typeof message.event !== "string") return changed;
  let occurrence: Occurrence | undefined;
  for (const { number, spec } of definitions.specsByEvent.get(message.event) ?? []) {
    occurrence ??= occurrenceOf(stored);
    if (takeOccurrence(unit, profile, number, spec, occurrence)) changed.push(number);
  }
  return changed;
}
