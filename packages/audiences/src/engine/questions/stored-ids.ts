import type { Identity, ProfileStore } from "@sluice/event-log";
import { decodeProfile } from "../../profiles/profile.js";
import { idsOf, namesProfile, type UserIds } from "./forget-user.js";

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
