import { mergedState } from "../../conditions/aggregate.js";
import { COMPUTED_TRAIT } from "../../definitions/definitions.js";
import type { Profile } from "../../profiles/profile.js";
import { admitTrait } from "../../profiles/profile-bounds.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import { addLeftOut, addToStats, changeMembership, isPublished, NEVER_IN } from "./publish-changes.js";
import { type Evaluated, updateProfile } from "./update-profile.js";

/**
 * Makes `gone` part of `profile`: aggregates are merged, the survivor's own traits win. Memberships of `gone` are published under the
 * survivor's id: true if the survivor was not in and now is; false if only `gone` was in and now neither is, unless the
 * destinations have a value for the survivor already.
 */
export function mergeInto(unit: UnitOfWork, loaded: Evaluated, profile: Profile, gone: Profile): void {
  const { definitions } = loaded;
  mergeContents(unit, profile, gone);
  for (const [number, other] of gone.aggregates) {
    const spec = definitions.specs.get(number);
    if (spec === undefined) continue;
    const own = profile.aggregates.get(number);
    profile.aggregates.set(number, own === undefined ? other : mergedState(spec, own, other));
  }
  subtractFromStats(unit, loaded, gone);
  unit.remove(gone);
  unit.touch(profile);
  updateProfile(unit, loaded, profile, {
    aggregates: definitions.specs.keys(),
    traits: [],
    audiences: definitions.audiences,
  });
  publishLeft(unit, loaded, profile, gone);
}

function mergeContents(unit: UnitOfWork, profile: Profile, gone: Profile): void {
  profile.firstSeenMs = Math.min(profile.firstSeenMs, gone.firstSeenMs);
  profile.lastSeenMs = Math.max(profile.lastSeenMs, gone.lastSeenMs);
  for (const identity of gone.identities) {
    profile.identities.push(identity);
    unit.point(identity, profile.number);
  }
  for (const [name, value] of gone.traits) {
    if (!profile.traits.has(name) && admitTrait(profile, name, value, unit.leftOut))
      profile.traits.set(name, value);
  }
  profile.leftOut.traits += gone.leftOut.traits;
  profile.leftOut.ids += gone.leftOut.ids;
}

/** Memberships that only `gone` had. */
function publishLeft(unit: UnitOfWork, { states }: Evaluated, profile: Profile, gone: Profile): void {
  for (const [id, was] of gone.memberships) {
    const state = states.get(id);
    const now = profile.memberships.get(id) ?? NEVER_IN;
    if (state === undefined || !was.published || now.isIn || now.publishedSeq > 0) continue;
    changeMembership(unit, state, profile, now, { ...now, published: true });
  }
}

/** Subtracts a profile that goes from the definitions' stats. */
function subtractFromStats(unit: UnitOfWork, { states }: Evaluated, gone: Profile): void {
  for (const [id, { isIn, published }] of gone.memberships) {
    const state = states.get(id);
    if (state !== undefined)
      addToStats(unit, state, { size: -Number(isIn), held: -Number(isIn !== published) });
  }
  for (const [id, computed] of gone.computed) {
    const state = states.get(id);
    if (state?.definition.kind !== COMPUTED_TRAIT) continue;
    addToStats(unit, state, { held: -Number(!isPublished(computed, state.definition)) });
    addLeftOut(unit, state, computed.leftOut, 0);
  }
}

/** Removes a profile with its ids and its pending messages. */
export function removeProfile(unit: UnitOfWork, loaded: Evaluated, profile: Profile): void {
  subtractFromStats(unit, loaded, profile);
  for (const identity of profile.identities) unit.point(identity, undefined);
  unit.withdraw(profile.number);
  unit.remove(profile);
}
