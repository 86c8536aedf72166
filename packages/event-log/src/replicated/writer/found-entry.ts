import type { Entry, EntryId } from "../../sqlite/replica/entry.js";

/**
 * An entry that the log has behind what is settled:
 *
 * - `own`: the oldest entry under way. An earlier try appended it, and the answer got lost.
 * - `replaced`: another session begins. Its process owns the log now.
 * - `other`: anything else, such as an entry that the log has twice. It takes a place, and copies ignore it.
 */
export type FoundEntry = "own" | "replaced" | "other";

/** `session`: the writer's. `oldest`: its oldest entry under way. */
export function foundEntry(
  session: string,
  oldest: EntryId | undefined,
  found: Pick<Entry, "session" | "number" | "calls">,
): FoundEntry {
  if (found.session !== session) return found.calls[0]?.operation === "takeover" ? "replaced" : "other";
  return found.number === oldest?.number ? "own" : "other";
}
