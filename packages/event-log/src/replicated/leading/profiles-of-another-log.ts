import type { Applied } from "../../sqlite/calls/applied.js";
import type { Snapshot } from "../../sqlite/calls/operations.js";

/**
 * Where the profiles of a copy are that contains the whole log, up to the entry `last`, if that is in another log. Earlier versions moved
 * restored backups in with the marks of their old log. The copies of such a cluster leave out all changes of profiles, until the log is as
 * long as the old one was.
 *
 * Profiles that are at a later entry of the session that leads are not of another log: the log has lost entries.
 */
export function profilesOfAnotherLog(
  { applied, profilesApplied }: Pick<Snapshot, "applied" | "profilesApplied">,
  last: number,
): Applied | undefined {
  if (applied === undefined || profilesApplied === undefined || applied.sequence !== last) return undefined;
  const isBeyond = profilesApplied.sequence > applied.profiles;
  return isBeyond && profilesApplied.session !== applied.session ? profilesApplied : undefined;
}
