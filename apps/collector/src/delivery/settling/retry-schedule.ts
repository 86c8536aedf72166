import type { Retry, UrlRetry } from "@sluice/event-log";
import { LIMITS } from "@sluice/protocol";
import { type BackoffOptions, backoffDelayMs } from "@sluice/resilience";
import type { RoundOutcome, TargetRetry } from "../../destinations/destination.js";

/** When a message that failed is tried again, and when it no longer is. */
export interface RetryPolicy {
  /** From the first attempt; no attempt begins after it, in milliseconds. Default: 14_400_000 (4 h). */
  readonly windowMs: number;
  /**
   * Full jitter. Default: up to 2 s before the first retry (1 s on average), doubling, at most 15 min.
   * `maxMs` is also the length of the window's last part, in which exactly one attempt is made.
   */
  readonly backoff: BackoffOptions;
  /**
   * A crowd of messages that fail together is spread over at least this much a message, so that it does not come back as
   * a crowd, in milliseconds. Default: 500.
   */
  readonly crowdSpreadMs: number;
  /** A crowd is spread over no more than this by `crowdSpreadMs`, in milliseconds. Default: 60_000. */
  readonly crowdSpreadMaxMs: number;
}

export const RETRY_DEFAULTS: RetryPolicy = {
  windowMs: LIMITS.retryWindowMs,
  backoff: { initialMs: 2_000, maxMs: 15 * 60_000, jitter: "full" },
  crowdSpreadMs: 500,
  crowdSpreadMaxMs: 60_000,
};

/** A due time this close to the window's end might be missed by the time it takes to begin. */
const END_MARGIN_MS = 10_000;

/** What is known of a delivery after a round. */
export interface RoundEnd {
  /** Rounds made so far, this one included. */
  readonly rounds: number;
  readonly firstAttemptAtMs: number;
  readonly nowMs: number;
  /** Retries that wait at the destination already. */
  readonly crowd: number;
  /** Uniform in [0, 1). */
  readonly random: number;
  /** Where URLs have retries of their own: those whose time had not come. */
  readonly waiting?: readonly UrlRetry[];
  /** Attempts at a URL that has retries of its own, this round's included. */
  readonly roundsAt?: (url: string) => number;
}

export type Decision =
  | { readonly kind: "settle"; readonly state: "delivered" | "failed"; readonly reason: string }
  | ({ readonly kind: "retry" } & Pick<Retry, "dueAtMs" | "doneUrls" | "failedUrls" | "urls">);

type Retriable = Extract<RoundOutcome, { kind: "retry" }>;

/** What happens to a message after a round. */
export function decide(
  outcome: Exclude<RoundOutcome, { kind: "aborted" }>,
  end: RoundEnd,
  policy: RetryPolicy,
): Decision {
  if (outcome.kind !== "retry") return { kind: "settle", state: outcome.kind, reason: outcome.reason };
  if (outcome.targets !== undefined) return decideForEach(outcome, outcome.targets, end, policy);
  const { doneUrls, failedUrls } = outcome;
  if (isInLastPart(end.firstAttemptAtMs, end.nowMs, policy)) return givenUp(outcome.reason, policy);
  const dueAtMs = dueAfter(end.rounds, outcome.retryAfterMs, end, policy);
  return { kind: "retry", dueAtMs, doneUrls, failedUrls };
}

/** Each URL that failed comes again in its own time, and one that has had its last attempt is done without having taken it. */
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
    doneUrls: [...outcome.doneUrls, ...givenUpUrls],
    failedUrls: [...outcome.failedUrls, ...givenUpUrls],
    urls,
  };
}

function givenUp(reason: string, policy: RetryPolicy): Decision {
  return { kind: "settle", state: "failed", reason: `gave up after ${windowText(policy)}: ${reason}` };
}

/** When what has failed so often is tried again. Whole milliseconds: the store keeps no others. */
function dueAfter(
  rounds: number,
  retryAfterMs: number | undefined,
  { firstAttemptAtMs, nowMs, crowd, random }: RoundEnd,
  { windowMs, backoff, crowdSpreadMs, crowdSpreadMaxMs }: RetryPolicy,
): number {
  const spreadMs = Math.min(crowd * crowdSpreadMs, crowdSpreadMaxMs, backoff.maxMs);
  const delayMs = Math.max(backoffDelayMs(rounds, backoff, random), Math.floor(spreadMs * random));
  const dueAtMs = nowMs + Math.max(delayMs, retryAfterMs ?? 0);
  return Math.round(Math.min(dueAtMs, firstAttemptAtMs + windowMs - END_MARGIN_MS));
}

/** Whether an attempt that begins now is the last one: a retry after it, however long it waits, would fall outside the window. */
export function isInLastPart(firstAttemptAtMs: number, nowMs: number, policy: RetryPolicy): boolean {
  return nowMs >= firstAttemptAtMs + policy.windowMs - policy.backoff.maxMs;
}

/**
 * When a message that a dead destination's breaker holds back goes out all the same, for the last time: somewhere in the
 * window's last part, and not where the others of a crowd do. Early enough for a timer that looks every two minutes.
 */
export function lastCallMs(firstAttemptAtMs: number, offset: number, policy: RetryPolicy): number {
  const lastPartMs = policy.backoff.maxMs;
  // Knuth's multiplicative hash: neighbours in the log end up far apart.
  const share = (Math.imul(offset, 2_654_435_761) >>> 0) / 2 ** 32;
  return firstAttemptAtMs + policy.windowMs - lastPartMs + Math.floor(share * lastPartMs * 0.8);
}

/** Whether the window has passed: nothing is sent any more. */
export function isOver(firstAttemptAtMs: number, nowMs: number, policy: RetryPolicy): boolean {
  return nowMs > firstAttemptAtMs + policy.windowMs;
}

/** The window in words, for reasons. */
export function windowText({ windowMs }: RetryPolicy): string {
  const hours = windowMs / 3_600_000;
  return hours >= 1
    ? `${Number(hours.toFixed(1))} h of retries`
    : `${Math.round(windowMs / 1_000)} s of retries`;
}
