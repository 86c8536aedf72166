/** When queued messages go out. */
export interface FlushPolicy {
  /** `"batched"`: by count and time. `"eager"`: whenever a request may be made. */
  readonly kind: "batched" | "eager";
  /** Messages that trigger a flush. */
  readonly flushAt: number;
  /** Milliseconds from the start of the last flush to the next, where something is queued. */
  readonly flushAfterMs: number;
}

export type FlushDecision = { readonly kind: "flush" } | { readonly kind: "wait"; readonly untilMs: number };

/** Whether `waiting` messages, which no flush covers yet, go out now or at the latest when. */
export function decideFlush(policy: FlushPolicy, waiting: number, lastFlushMs: number): FlushDecision {
  if (policy.kind === "eager" || waiting >= policy.flushAt) return { kind: "flush" };
  return { kind: "wait", untilMs: lastFlushMs + policy.flushAfterMs };
}
