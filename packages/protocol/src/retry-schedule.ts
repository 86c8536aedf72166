import { LIMITS } from "./limits.js";

/** The bounds of a destination's `retryForMs`, in milliseconds: 1 minute to 7 days. Default: 4 hours. */
export const RETRY_WINDOW = {
  minMs: 60_000,
  defaultMs: LIMITS.retryWindowMs,
  maxMs: 7 * 24 * 60 * 60 * 1_000,
} as const;

/** The longest wait before the first retry, in milliseconds. Each further wait may be twice as long. */
export const FIRST_RETRY_WITHIN_MS = 2_000;
const LONGEST_GAP_MS = 60 * 60 * 1_000;
const END_MARGIN_MS = 10_000;

export interface RetryTiming {
  /**
   * The longest wait between two attempts: a sixteenth of the window, at most an hour. It is also the length of the last part of
   * the window, in which exactly one attempt is made.
   */
  readonly longestGapMs: number;
  /** Nothing is scheduled this close to the end of the window, because it might start too late. */
  readonly endMarginMs: number;
}

/** How attempts are spread over a retry window. For 4 hours: at most 15 minutes apart. */
export function retryTiming(windowMs: number): RetryTiming {
  const longestGapMs = Math.min(Math.round(windowMs / 16), LONGEST_GAP_MS);
  return { longestGapMs, endMarginMs: Math.min(END_MARGIN_MS, Math.round(longestGapMs / 4)) };
}

export interface RetrySchedule {
  /** When the attempts of a message are made on average, in milliseconds since the first one. Waits are random. */
  readonly attemptsAtMs: readonly number[];
  readonly longestGapMs: number;
  /** The last attempt is made after this time, and before the end of the window. */
  readonly lastAttemptAfterMs: number;
}

/** The attempts at a message that always fails. */
export function retrySchedule(windowMs: number): RetrySchedule {
  const { longestGapMs, endMarginMs } = retryTiming(windowMs);
  const lastAttemptAfterMs = windowMs - longestGapMs;
  const attemptsAtMs = [0];
  let atMs = 0;
  for (let most = FIRST_RETRY_WITHIN_MS; atMs < lastAttemptAfterMs; most *= 2) {
    atMs = Math.min(atMs + Math.floor(Math.min(most, longestGapMs) / 2), windowMs - endMarginMs);
    attemptsAtMs.push(atMs);
  }
  return { attemptsAtMs, longestGapMs, lastAttemptAfterMs };
}
