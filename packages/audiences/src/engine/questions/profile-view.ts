import type { ProfileView } from "@sluice/control-api";
import type { Identity, ProfileStore } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { DefinitionSet } from "../../definitions/definition-set.js";
import { decodeProfile, type Profile, userFields } from "../../profiles/profile.js";
import { idsOf, namesProfile, type UserIds } from "./forgetting.js";

/** The ids that a deletion of `identity` includes, as far as the stored profiles know them. For a store that no engine runs on. */
export async function storedIdsOf(
  store: Pick<ProfileStore, "resolve" | "load">,
  identity: Identity,
  includeAliases: boolean,
): Promise<UserIds> {
  const number = (await store.resolve([identity])).get(identity);
  const [record] = number === undefined ? [] : await store.load([number]);
  const profile = record === undefined ? undefined : decodeProfile(record);
  const own = profile !== undefined && namesProfile(profile, identity) ? profile : undefined;
  return idsOf(own, identity, includeAliases);
}

export function viewOf(profile: Profile, { byId }: DefinitionSet): ProfileView {
  const named = (prefix: string): string[] =>
    profile.identities.filter((identity) => identity.startsWith(prefix)).map((identity) => identity.slice(2));
  return {
    ...userFields(profile),
    traits: Object.fromEntries(profile.traits),
    computedTraits: Object.fromEntries(
      [...profile.computed].flatMap(([id, { value }]) => {
        const definition = byId.get(id);
        return definition === undefined || value === undefined ? [] : [[definition.document.key, value]];
      }),
    ),
    audiences: [...profile.memberships].flatMap(([id, { isIn, sinceMs }]) => {
      const definition = byId.get(id);
      return definition === undefined
        ? []
        : [{ id, key: definition.document.key, member: isIn, since: formatTime(sinceMs) }];
    }),
    identities: { userIds: named("u:"), anonymousIds: named("a:") },
    ...(profile.leftOut.traits + profile.leftOut.ids === 0 ? {} : { leftOut: { ...profile.leftOut } }),
    firstSeenAt: formatTime(profile.firstSeenMs),
    lastSeenAt: formatTime(profile.lastSeenMs),
  };
}
