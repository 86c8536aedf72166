import type { Retry, UrlRetry } from "@sluice/event-log";
import { FIRST_RETRY_WITHIN_MS, RETRY_WINDOW, retryTiming } from "@sluice/protocol";
import { type BackoffOptions, backoffDelayMs } from "@sluice/resilience";
import type { CountedOutcome, RoundOutcome, TargetRetry } from "../../destinations/destination.js";

/** When a failed message is tried again, and when it is given up. */
export interface RetryPolicy {
  /** Time from the first attempt after which no further attempt starts, in milliseconds. Default: 14_400_000 (4 h). */
  readonly windowMs: number;
  /**
   * Exponential backoff with full jitter. Default: up to 2 s before the first retry (1 s on average), doubling, at most
   * 15 min. `maxMs` is also the length of the last part of the window, in which exactly one attempt is made.
   */
  readonly backoff: BackoffOptions;
  /** Time before the end of the window in which no retry is scheduled, because it might start too late. Default: 10_000. */
  readonly endMarginMs: number;
  /**
   * Messages that fail together are retried over a period of at least this many milliseconds per message, so that they
   * are not all retried at once. Default: 500.
   */
  readonly burstSpreadMs: number;
  /** Maximum length of the period that `burstSpreadMs` results in, in milliseconds. Default: 60_000. */
  readonly burstSpreadMaxMs: number;
}

const TIMING = retryTiming(RETRY_WINDOW.defaultMs);

export const RETRY_DEFAULTS: RetryPolicy = {
  windowMs: RETRY_WINDOW.defaultMs,
  backoff: { initialMs: FIRST_RETRY_WITHIN_MS, maxMs: TIMING.longestGapMs, jitter: "full" },
  endMarginMs: TIMING.endMarginMs,
  burstSpreadMs: 500,
  burstSpreadMaxMs: 60_000,
};

/** The policy of a destination with a retry window of its own. Without one, it is the collector's policy. */
export function retryPolicyFor(base: RetryPolicy, windowMs: number | undefined): RetryPolicy {
  if (windowMs === undefined) return base;
  const { longestGapMs, endMarginMs } = retryTiming(windowMs);
  return { ...base, windowMs, endMarginMs, backoff: { ...base.backoff, maxMs: longestGapMs } };
}

/** State of a delivery after a round. */
export interface RoundEnd {
  /** Rounds so far, including this one. */
  readonly rounds: number;
  readonly firstAttemptAtMs: number;
  readonly nowMs: number;
  /** Retries that are already scheduled for the destination. */
  readonly waitingRetries: number;
  /** Uniform in [0, 1). */
  readonly random: number;
  /** URLs with their own retries that were not due. */
  readonly waiting?: readonly UrlRetry[];
  /** Number of attempts at a URL with its own retries, including this round. */
  readonly roundsAt?: (url: string) => number;
  /** The retry's `notBeforeMs` before this round. */
  readonly notBeforeMs?: number | undefined;
}

export type Decision =
  | { readonly kind: "finish"; readonly state: "delivered" | "failed" | "filtered"; readonly reason: string }
  | ({ readonly kind: "retry" } & Pick<
      Retry,
      "dueAtMs" | "notBeforeMs" | "doneUrls" | "failedUrls" | "urls"
    >);

type Retriable = Extract<RoundOutcome, { kind: "retry" }>;

/** Decides what happens to a message after a round. */
export function decide(outcome: CountedOutcome, end: RoundEnd, policy: RetryPolicy): Decision {
  if (outcome.kind !== "retry") return { kind: "finish", state: outcome.kind, reason: outcome.reason };
  if (outcome.targets !== undefined) return decideForEach(outcome, outcome.targets, end, policy);
  const { doneUrls, failedUrls } = outcome;
  if (isInLastPart(end.firstAttemptAtMs, end.nowMs, policy)) return givenUp(outcome.reason, policy);
  const dueAtMs = dueAfter(end.rounds, outcome.retryAfterMs, end, policy);
  return { kind: "retry", dueAtMs, ...notBefore([outcome.retryAfterMs], end), doneUrls, failedUrls };
}

/** The latest time that a receiver asked to wait for. */
function notBefore(
  retryAfterMs: readonly (number | undefined)[],
  { nowMs, notBeforeMs = nowMs }: RoundEnd,
): Pick<Retry, "notBeforeMs"> {
  const latestMs = Math.max(notBeforeMs, ...retryAfterMs.map((ms = 0) => nowMs + ms));
  return latestMs > nowMs ? { notBeforeMs: Math.round(latestMs) } : {};
}

/** Each failed URL is retried on its own schedule. A URL that has had its last attempt is given up. */
function decideForEach(
  outcome: Retriable,
  failed: readonly TargetRetry[],
  end: RoundEnd,
  policy: RetryPolicy,
): Decision {
  const { waiting = [], roundsAt = () => end.rounds, firstAttemptAtMs, nowMs } = end;
  const isLast = isInLastPart(firstAttemptAtMs, nowMs, policy);
  const givenUpUrls = failed.flatMap(({ url, tried }) => (isLast && tried ? [url] : []));
  const again = failed.flatMap(({ url, tried, retryAfterMs }): UrlRetry[] => {
    if (isLast && tried) return [];
    const rounds = roundsAt(url) - (tried ? 0 : 1);
    return [{ url, rounds, dueAtMs: dueAfter(Math.max(1, rounds), retryAfterMs, end, policy) }];
  });
  const urls = [...waiting, ...again];
  if (urls.length === 0) return givenUp(outcome.reason, policy);
  return {
    kind: "retry",
    dueAtMs: Math.min(...urls.map(({ dueAtMs }) => dueAtMs)),
    ...notBefore(
      failed.map(({ retryAfterMs }) => retryAfterMs),
      end,
    ),
    doneUrls: [...outcome.doneUrls, ...givenUpUrls],
    failedUrls: [...outcome.failedUrls, ...givenUpUrls],
    urls,
  };
}

function givenUp(reason: string, policy: RetryPolicy): Decision {
  return { kind: "finish", state: "failed", reason: `gave up after ${windowText(policy)}: ${reason}` };
}

/** Returns when to retry after `rounds` rounds. Rounded to whole milliseconds, as the store requires. */
function dueAfter(
  rounds: number,
  retryAfterMs: number | undefined,
  { firstAttemptAtMs, nowMs, waitingRetries, random }: RoundEnd,
  { windowMs, backoff, endMarginMs, burstSpreadMs, burstSpreadMaxMs }: RetryPolicy,
): number {
  const spreadMs = Math.min(waitingRetries * burstSpreadMs, burstSpreadMaxMs, backoff.maxMs);
  const delayMs = Math.max(backoffDelayMs(rounds, backoff, random), Math.floor(spreadMs * random));
  const dueAtMs = nowMs + Math.max(delayMs, retryAfterMs ?? 0);
  return Math.round(Math.min(dueAtMs, firstAttemptAtMs + windowMs - endMarginMs));
}

/** Whether an attempt that starts now is the last one, because a retry after it might fall outside the window. */
export function isInLastPart(firstAttemptAtMs: number, nowMs: number, policy: RetryPolicy): boolean {
  return nowMs >= firstAttemptAtMs + policy.windowMs - policy.backoff.maxMs;
}

/**
 * When to send a message for the last time although the destination's circuit breaker is open. The time is in the last part of
 * the window, and differs for each message of a burst. The last 20 % of it is left free for a timer that fires every two minutes.
 */
export function lastCallMs(firstAttemptAtMs: number, offset: number, policy: RetryPolicy): number {
  const lastPartMs = policy.backoff.maxMs;
  // Knuth's multiplicative hash spreads adjacent offsets far apart.
  const share = (Math.imul(offset, 2_654_435_761) >>> 0) / 2 ** 32;
  return firstAttemptAtMs + policy.windowMs - lastPartMs + Math.floor(share * lastPartMs * 0.8);
}

/** Whether the retry window has ended. Nothing is sent after that. */
export function isOver(firstAttemptAtMs: number, nowMs: number, policy: RetryPolicy): boolean {
  return nowMs > firstAttemptAtMs + policy.windowMs;
}

/** Describes the window for the reason of an outcome, such as `4 h of retries`. */
export function windowText({ windowMs }: RetryPolicy): string {
  const [unit, size] = UNITS.find(([, unitMs]) => windowMs >= unitMs) ?? SECONDS;
  return `${Number((windowMs / size).toFixed(1))} ${unit} of retries`;
}

const SECONDS = ["s", 1_000] as const;
const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], SECONDS] as const;
