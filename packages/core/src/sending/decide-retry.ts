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

/**
 * A shorter wait that the server asks for is obeyed at the first retry only. Otherwise a server that always answers `Retry-After: 0` would
 * make the client send without pauses, and without an end.
 */
const SHORTEST_UNCOUNTED_MS = 1_000;

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
  /** `asked`: the server chose the wait, and the retry is not counted. */
  | { readonly kind: "retry"; readonly delayMs: number; readonly asked: boolean };

/** Decides whether and when a batch is sent again after a retryable outcome. */
export function decideRetry(policy: RetryPolicy, situation: RetrySituation): RetryDecision {
  const { countedRetries, elapsedMs, retryAfterMs, random } = situation;
  const asked = retryAfterMs !== undefined && retryAfterMs >= SHORTEST_UNCOUNTED_MS;
  if (!asked && countedRetries >= policy.maxRetries) return { kind: "give_up" };
  const backoffMs = backoffDelayMs(countedRetries + 1, BACKOFF, random);
  const isObeyed = asked || countedRetries === 0;
  const delayMs = isObeyed ? (retryAfterMs ?? backoffMs) : Math.max(retryAfterMs ?? 0, backoffMs);
  if (elapsedMs + delayMs > policy.maxTotalMs) return { kind: "give_up" };
  return { kind: "retry", delayMs, asked };
}
