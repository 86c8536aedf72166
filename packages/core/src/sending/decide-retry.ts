import { backoffDelayMs } from "@sluice/resilience";

export interface RetryPolicy {
  /** Retries after the first attempt. Retries that the server asked for are not counted. */
  readonly maxRetries: number;
  /** The longest time from the start of the first attempt to the start of the last, in milliseconds. */
  readonly maxTotalMs: number;
}

/**
 * From 100 ms, doubling, at most 10 s, with 20 % jitter. With so little jitter, ten retries always outlast an outage of 30 s: they
 * span 34 to 43 s. With full jitter they would span 0 to 43 s.
 */
const BACKOFF = { initialMs: 100, maxMs: 10_000, jitter: 0.2 } as const;

export interface RetrySituation {
  /** Retries so far, without those that the server asked for. */
  readonly countedRetries: number;
  readonly elapsedMs: number;
  /** The wait that the server asked for, if it did. */
  readonly retryAfterMs: number | undefined;
  /** Uniform in [0, 1). */
  readonly random: number;
}

export type RetryDecision =
  | { readonly kind: "give_up" }
  /** `asked`: the server chose the wait, so the retry is not counted. */
  | { readonly kind: "retry"; readonly delayMs: number; readonly asked: boolean };

/** Decides whether and when a batch is sent again after a retryable outcome. */
export function decideRetry(policy: RetryPolicy, situation: RetrySituation): RetryDecision {
  const { countedRetries, elapsedMs, retryAfterMs, random } = situation;
  // "0 seconds" and a date in the past are ignored: following them would make an endless loop without pauses.
  const asked = retryAfterMs !== undefined && retryAfterMs > 0;
  if (!asked && countedRetries >= policy.maxRetries) return { kind: "give_up" };
  const delayMs = asked ? retryAfterMs : backoffDelayMs(countedRetries + 1, BACKOFF, random);
  if (elapsedMs + delayMs > policy.maxTotalMs) return { kind: "give_up" };
  return { kind: "retry", delayMs, asked };
}
