import type { DeletedUser } from "./deletion.js";
import type { ProfileRemoval } from "./run-step.js";

/**
 * The ids to delete with a requested one: those that its profile has, and those that the request named. In a cluster of several
 * partitions, another partition's deletion may have removed the profile already.
 */
export async function idsOfUser(
  { identity, identities, aliases }: Pick<DeletedUser, "identity" | "identities" | "aliases">,
  includeAliases: boolean,
  profiles: Pick<ProfileRemoval, "identitiesOf">,
): Promise<Pick<DeletedUser, "identities" | "aliases">> {
  const found = await profiles.identitiesOf(identity, includeAliases);
  return {
    identities: [...new Set([...found.identities, ...identities])],
    aliases: [...new Set([...found.aliases, ...aliases])],
  };
}
