import { backoffDelayMs } from "@sluice/resilience";

export interface RetryPolicy {
  /** Retries after the first attempt, not counting those that the server asked for. */
  readonly maxRetries: number;
  /** From the start of the first attempt to the start of the last. */
  readonly maxTotalMs: number;
}

/**
 * From 100 ms, doubling, at most 10 s; a fifth of it by chance. So little, because ten retries then outlast a server that
 * is away for 30 s whatever the dice say: they span 34 to 43 s, where full jitter would span 0 to 43.
 */
const BACKOFF = { initialMs: 100, maxMs: 10_000, jitter: 0.2 } as const;

export interface RetrySituation {
  /** Retries so far that counted. */
  readonly countedRetries: number;
  readonly elapsedMs: number;
  /** The server's own wish, where it had one. */
  readonly retryAfterMs: number | undefined;
  /** Uniform in [0, 1). */
  readonly random: number;
}

export type RetryDecision =
  | { readonly kind: "give_up" }
  /** `asked`: the server chose the wait, and the retry costs none of ours. */
  | { readonly kind: "retry"; readonly delayMs: number; readonly asked: boolean };

/** Whether a batch whose attempt may be repeated is sent again, and when. */
export function decideRetry(policy: RetryPolicy, situation: RetrySituation): RetryDecision {
  const { countedRetries, elapsedMs, retryAfterMs, random } = situation;
  // "0 seconds" and a date that has passed ask for nothing; obeying them would be a loop without pause or end.
  const asked = retryAfterMs !== undefined && retryAfterMs > 0;
  if (!asked && countedRetries >= policy.maxRetries) return { kind: "give_up" };
  const delayMs = asked ? retryAfterMs : backoffDelayMs(countedRetries + 1, BACKOFF, random);
  if (elapsedMs + delayMs > policy.maxTotalMs) return { kind: "give_up" };
  return { kind: "retry", delayMs, asked };
}
