import type { LogAppend } from "../engine.js";

/**
 * What to do when the log has answered an append:
 *
 * - `accepted`: the entry directly follows what is settled.
 * - `again`: append the same entry with the same expectation. There was no answer, or the entry before it has not arrived.
 * - `look`: something else stands at the entry's place, or the entry itself: an earlier try whose answer got lost. Read the log.
 * - `give up`: the log has no room. Entries that wait behind this one have no place either.
 */
export type AfterAnswer =
  | { readonly kind: "accepted" }
  | { readonly kind: "again"; readonly delayed: boolean }
  | { readonly kind: "look" }
  | { readonly kind: "give up"; readonly reason: string };

/** `expected`: the sequence that the append expected, which is the last one that is settled. */
export function afterAnswer(answer: LogAppend, expected: number): AfterAnswer {
  switch (answer.kind) {
    case "appended":
      return answer.sequence === expected + 1 ? { kind: "accepted" } : { kind: "look" };
    case "unknown":
      return { kind: "again", delayed: true };
    case "refused":
      // It was refused before the entry before it arrived, which is settled by now.
      return answer.last !== undefined && answer.last <= expected
        ? { kind: "again", delayed: false }
        : { kind: "look" };
    case "impossible":
      return { kind: "give up", reason: answer.reason };
    default:
      return answer satisfies never;
  }
}
