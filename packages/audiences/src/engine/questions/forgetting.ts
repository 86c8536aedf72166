import type { Identity } from "@sluice/event-log";
import type { Profile } from "../../profiles/profile.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import { removeProfile } from "../evaluation/merge-profiles.js";
import { DOCUMENTS, type EngineState } from "../state/engine-state.js";
import { UNIT_PROFILES, type UnitRunner } from "../state/unit-runner.js";
import { forgetProfile, idsOf, namesProfile, type UserIds } from "./forget-user.js";

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
