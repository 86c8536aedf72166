import { type Identity, idOf, isUserIdentity } from "@sluice/event-log";
import { isAnonymous, joinedTo, type Profile } from "../../profiles/profile.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import { removeProfile } from "../evaluation/merge-profiles.js";
import { updateProfile } from "../evaluation/update-profile.js";
import { DOCUMENTS, type EngineState } from "../state/engine-state.js";
import { UNIT_PROFILES, type UnitRunner } from "../state/unit-runner.js";

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
function forgetProfile(
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

/** What a deletion finds. */
export interface Forgotten {
  /** Whether there is (or was) a profile. */
  readonly profile: boolean;
  /** Audiences that it is (or was) a member of. */
  readonly audienceMemberships: number;
}

/** A user to forget: the id that was asked for, and all ids that go with it. */
export interface ForgottenUser {
  readonly identity: Identity;
  readonly identities: readonly Identity[];
}

export async function identitiesOf(
  units: UnitRunner,
  identity: Identity,
  includeAliases: boolean,
): Promise<UserIds & Forgotten> {
  const profile = await units.readFirst([identity]);
  const own = profile !== undefined && namesProfile(profile, identity) ? profile : undefined;
  return { ...idsOf(own, identity, includeAliases), ...foundIn(own) };
}

export async function forget(
  units: UnitRunner,
  users: readonly ForgottenUser[],
  nowMs: number,
): Promise<readonly Forgotten[]> {
  const forgotten: Forgotten[] = [];
  while (forgotten.length < users.length) {
    const rest = users.slice(forgotten.length);
    await units.transact(nowMs, async (unit, loaded) => {
      forgotten.push(...(await forgetNext(unit, loaded, rest)));
    });
  }
  // The deletion goes on from its next step after a power cut, which must not bring the profiles back.
  await units.store.commit({ isSynced: true });
  return forgotten;
}

/** Forgets the first of these users, as many as there is room for in a unit of work: one at least. */
async function forgetNext(
  unit: UnitOfWork,
  loaded: EngineState,
  users: readonly ForgottenUser[],
): Promise<Forgotten[]> {
  await unit.fetch(users.map(({ identity }) => identity));
  const forgotten: Forgotten[] = [];
  for (const { identity, identities } of users) {
    if (unit.isUnfetched(unit.numberOf(identity) ?? -1)) break;
    const profile = unit.find(identity);
    const own = profile !== undefined && namesProfile(profile, identity) ? profile : undefined;
    forgotten.push(foundIn(own));
    if (own !== undefined) forgetProfile(unit, loaded, own, identities);
  }
  return forgotten;
}

export async function forgetSome(units: UnitRunner, nowMs: number): Promise<boolean> {
  let hasMore = false;
  await units.transact(nowMs, async (unit, loaded) => {
    const { profiles, isEnd } = await unit.scan(-1, UNIT_PROFILES);
    for (const profile of profiles) removeProfile(unit, loaded, profile);
    loaded.setAside = [];
    unit.putDocument(DOCUMENTS.setAside, undefined);
    hasMore = !isEnd;
  });
  return hasMore;
}

function foundIn(profile: Profile | undefined): Forgotten {
  return {
    profile: profile !== undefined,
    audienceMemberships: [...(profile?.memberships.values() ?? [])].filter((one) => one.isIn).length,
  };
}
