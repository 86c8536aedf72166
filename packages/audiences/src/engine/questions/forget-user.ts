import { type Identity, idOf, isUserIdentity } from "@sluice/event-log";
import { isAnonymous, joinedTo, type Profile } from "../../profiles/profile.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import { removeProfile } from "../evaluation/merge-profiles.js";
import { updateProfile } from "../evaluation/update-profile.js";
import type { EngineState } from "../state/engine-state.js";

/** The ids that a deletion of one id includes, and those that stay. */
export interface UserIds {
  /** The id itself, first; the anonymous ids joined to it; with the aliases, those and the anonymous ids joined to them. */
  readonly identities: readonly Identity[];
  /** Other user ids of the same profile. */
  readonly aliases: readonly string[];
}

/** The ids that a deletion of `identity` includes. An anonymous id includes no other: it may be joined to a user who is not to be deleted. */
export function idsOf(
  profile: Pick<Profile, "id" | "identities" | "joined"> | undefined,
  identity: Identity,
  includeAliases: boolean,
): UserIds {
  if (profile === undefined || !isUserIdentity(identity)) return { identities: [identity], aliases: [] };
  const all = profile.identities as readonly Identity[];
  const aliases = all.filter((one) => isUserIdentity(one) && one !== identity);
  const going = new Set<string>([identity, ...(includeAliases ? aliases : [])]);
  const anonymous = all.filter((one) => !isUserIdentity(one) && going.has(joinedTo(profile, one)));
  return {
    identities: [identity, ...aliases.filter((one) => going.has(one)), ...anonymous],
    aliases: aliases.map(idOf),
  };
}

/**
 * Removes a profile. User ids that stay share a new, empty profile: the old one does not tell which id a trait or an event came from, but
 * the ids are still known to be one user.
 */
export function forgetProfile(
  unit: UnitOfWork,
  loaded: EngineState,
  profile: Profile,
  going: readonly Identity[],
): void {
  const gone = new Set<string>(going);
  const stays = (identity: string): boolean =>
    !gone.has(identity) && !gone.has(isUserIdentity(identity) ? identity : joinedTo(profile, identity));
  const left = profile.identities.filter(stays);
  const owners = new Map(left.map((identity) => [identity, joinedTo(profile, identity)]));
  const id = left.find(isUserIdentity);
  removeProfile(unit, loaded, profile);
  if (id === undefined) return;
  const fresh = unit.create(id, profile.lastSeenMs);
  for (const identity of left) {
    if (identity === id) continue;
    fresh.identities.push(identity);
    unit.point(identity, fresh.number);
    const owner = owners.get(identity);
    if (!isUserIdentity(identity) && owner !== undefined && owner !== id) fresh.joined.set(identity, owner);
  }
  updateProfile(unit, loaded, fresh, {
    aggregates: [],
    traits: [],
    audiences: loaded.definitions.ofNewProfiles,
  });
}

/** Whether the id names the profile's user, not a device that is joined to one. */
export function namesProfile(profile: Pick<Profile, "id">, identity: Identity): boolean {
  return isUserIdentity(identity) || isAnonymous(profile);
}
