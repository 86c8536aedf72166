import { type Identity, idOf, isUserIdentity } from "@sluice/event-log";
import { isAnonymous, joinedTo, type Profile } from "../profiles/profile.js";
import type { Step } from "../profiles/step.js";
import type { EngineState } from "./engine-state.js";
import { keepUp } from "./keep-up.js";
import { removeProfile } from "./take-message.js";

/** The ids that go with a user, and those that stay. */
export interface UserIds {
  /** The id itself, first; the anonymous ids joined to it; with the aliases, those and the anonymous ids joined to them. */
  readonly identities: readonly Identity[];
  /** Other user ids of the same profile. */
  readonly aliases: readonly string[];
}

/**
 * Which ids go with one. An anonymous id takes nobody with it: joined to a user it is a part of that user, who was not asked for.
 */
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
 * Removes a profile. User ids that stay begin anew with an empty one: what the profile held of each cannot be told apart, but that
 * they are one user is still known.
 */
export function forgetProfile(
  step: Step,
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
  removeProfile(step, loaded, profile);
  if (id === undefined) return;
  const fresh = step.create(id, profile.lastSeenMs);
  for (const identity of left) {
    if (identity === id) continue;
    fresh.identities.push(identity);
    step.point(identity, fresh.number);
    const owner = owners.get(identity);
    if (!isUserIdentity(identity) && owner !== undefined && owner !== id) fresh.joined.set(identity, owner);
  }
  keepUp(step, loaded, fresh, { aspects: [], traits: [], audiences: loaded.plan.ofNewProfiles });
}

/** Whether the id names the profile's user, rather than a device that is joined to one. */
export function namesProfile(profile: Pick<Profile, "id">, identity: Identity): boolean {
  return isUserIdentity(identity) || isAnonymous(profile);
}
