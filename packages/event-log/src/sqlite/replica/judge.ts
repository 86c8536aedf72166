import type { Applied } from "../calls/applied.js";
import type { EntryId } from "./entry.js";

/**
 * What a copy does with an entry. Every copy decides the same, because it depends on nothing but the entries before.
 *
 * `apply`: the next entry of the session that leads, or the first entry of a session that takes over.
 *
 * `ignore`: everything else. An owner has several appends under way, each of which expects the sequence of the one before it. If the first
 * gets lost and another process takes over at just that sequence, the log accepts the second one. So an expected sequence alone is not
 * enough: an entry also needs the session that leads, and the number that comes next.
 */
export function judge(
  applied: Applied,
  { session, number }: EntryId,
  takesOver: boolean,
): "apply" | "ignore" {
  if (session !== applied.session) return takesOver ? "apply" : "ignore";
  return number === applied.number + 1 ? "apply" : "ignore";
}
