/**
 * How a destination's waiting retries are released after an outage, so that they need not wait for their back-off.
 *
 * - `steady`: each retry waits until it is due. `failures` counts the rounds that failed in a row since. Entered at the start, when nothing
 *   is left to release, and when a release fails. Left by the first delivery after an outage.
 * - `releasing`: retries that were stored until `storedUntilMs` may start early, at most `limit` at a time. The limit begins at 1 and
 *   grows by one with each delivery, so it doubles with each round trip. A failure halves it.
 */
export type Recovery =
  | { readonly kind: "steady"; readonly failures: number }
  | {
      readonly kind: "releasing";
      readonly storedUntilMs: number;
      readonly limit: number;
      readonly failures: number;
    };

export const STEADY: Recovery = { kind: "steady", failures: 0 };

/** A round, for the release of retries. */
export type RoundResult =
  | { readonly kind: "delivered" }
  /** The receiver refused this message. Says nothing about an outage. */
  | { readonly kind: "refused" }
  | { readonly kind: "failed"; readonly hasRetryAfter: boolean };

/**
 * Failed rounds in a row that make an outage, and that end a release. Fewer may be a single bad message among good ones, which must
 * not be retried again each time another message is delivered.
 */
const OUTAGE_ROUNDS = 3;
const MAX_LIMIT = 1_024;

/** The state after a round. `wasDown`: the circuit breaker was open or probing before it. `isOld`: it began before the last release. */
export function afterRound(
  before: Recovery,
  result: RoundResult,
  { wasDown, isOld, nowMs }: { readonly wasDown: boolean; readonly isOld: boolean; readonly nowMs: number },
): Recovery {
  if (before.kind === "steady") {
    if (result.kind === "refused") return before;
    if (result.kind === "failed") return { kind: "steady", failures: before.failures + 1 };
    return wasDown || before.failures >= OUTAGE_ROUNDS ? release(nowMs) : STEADY;
  }
  if (result.kind === "delivered")
    return { ...before, limit: Math.min(before.limit + 1, MAX_LIMIT), failures: 0 };
  const asksForDelay = result.kind === "failed" && result.hasRetryAfter;
  if (isOld && !asksForDelay) return before;
  const failures = before.failures + 1;
  // The count begins anew. Otherwise, with some messages that always fail, each delivery of another one would retry them again.
  if (asksForDelay || failures >= OUTAGE_ROUNDS) return STEADY;
  return { ...before, limit: Math.max(1, Math.floor(before.limit / 2)), failures };
}

/** Begins with one retry. Also used when somebody changed a failing destination, to see whether it works now. */
export function release(nowMs: number): Recovery {
  return { kind: "releasing", storedUntilMs: nowMs, limit: 1, failures: 0 };
}
