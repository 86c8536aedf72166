/** When queued messages are sent. */
export interface FlushPolicy {
  /** `"batched"`: by count and time. `"eager"`: as soon as a request may be made. */
  readonly kind: "batched" | "eager";
  /** Messages that start a flush. */
  readonly flushAt: number;
  /** Milliseconds from the start of the last flush to the next, if something is queued. */
  readonly flushAfterMs: number;
}

export type FlushDecision = { readonly kind: "flush" } | { readonly kind: "wait"; readonly untilMs: number };

/** Decides whether `waiting` messages, which no flush covers yet, are sent now, and when at the latest. */
export function decideFlush(policy: FlushPolicy, waiting: number, lastFlushMs: number): FlushDecision {
  if (policy.kind === "eager" || waiting >= policy.flushAt) return { kind: "flush" };
  return { kind: "wait", untilMs: lastFlushMs + policy.flushAfterMs };
}
