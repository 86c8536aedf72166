import type { Identity } from "@sluice/event-log";
import type { DeletedUser } from "./deletion.js";

/** The parts of audiences that a deletion needs. */
export interface ProfileRemoval {
  /**
   * Resolves when every message that was stored before the call is counted, so that a user's other ids are known. Also resolves after a
   * timeout.
   */
  counted(): Promise<void>;
  /** Returns the ids and profile data to delete for an id. */
  identitiesOf(
    identity: Identity,
    includeAliases: boolean,
  ): Promise<
    ProfileFigures & {
      /** The id and those joined to it. With `includeAliases`, also the aliases and the ids joined to them. */
      readonly identities: readonly Identity[];
      /** Other user ids of the same profile. */
      readonly aliases: readonly string[];
    }
  >;
  forget(
    users: readonly { readonly identity: Identity; readonly identities: readonly Identity[] }[],
  ): Promise<readonly ProfileFigures[]>;
  compact(): Promise<void>;
}

interface ProfileFigures {
  readonly profile: boolean;
  readonly audienceMemberships: number;
}

/** The ids to delete with a requested one: those that its profile has, and those that are known of it already: the profile may be removed. */
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
