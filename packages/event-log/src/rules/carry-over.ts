import type { Offset } from "../message/batch.js";
import type { Retry } from "../ports/consumers.js";

/** The retry of a settled message that is sent again. */
export function newReplay(offset: Offset, dueAtMs: number): Retry {
  return {
    offset,
    rounds: 0,
    firstAttemptAtMs: dueAtMs,
    dueAtMs,
    reason: "replay",
    doneUrls: [],
    replay: true,
  };
}

/** The retry with another due time, at every URL. It keeps its attempts, and the retry window keeps its start. */
export function dueAt(dueAtMs: number, { notBeforeMs: _, ...retry }: Retry): Retry {
  const urls = retry.urls?.map((url) => ({ ...url, dueAtMs }));
  return { ...retry, dueAtMs, ...(urls === undefined ? {} : { urls }) };
}

/** How far the times of waiting retries are moved when a process takes over those of an earlier one. */
export interface CarryOver {
  /** Added to due times. */
  readonly dueMs: number;
  /** Added to the times of first attempts, from which the retry window is counted. */
  readonly windowMs: number;
}

/** The most that counts towards a retry window of the time in which no collector ran: the longest wait between two attempts. */
const MOST_DOWNTIME_MS = 15 * 60_000;
/** Clocks are adjusted by less than this all the time, and it delays nobody. */
const TOLERANCE_MS = 1_000;

/**
 * Times of retries are monotonic readings, and a process begins to count at the wall time of its start. That time may be
 * wrong, now or in the process before. `lastMs` is the last reading that is known of the process before, `nowMs` the first
 * of this one:
 *
 * - `nowMs` is earlier: the clock was set back. A retry waits for what was left of its delay.
 * - It is later by more than the longest wait: the collector was down for long, or the clock was set forward. Nobody can
 *   tell which. What was due is due now, and the retry window loses no more than that wait.
 * - Else the times are right as they are. Undefined.
 */
export function carryOver(lastMs: number, nowMs: number): CarryOver | undefined {
  const passedMs = nowMs - lastMs;
  if (passedMs < -TOLERANCE_MS) return { dueMs: passedMs, windowMs: passedMs };
  if (passedMs > MOST_DOWNTIME_MS) return { dueMs: 0, windowMs: passedMs - MOST_DOWNTIME_MS };
  return undefined;
}

type RetryTimes = Pick<Retry, "firstAttemptAtMs" | "dueAtMs" | "notBeforeMs" | "urls">;

/** The times of a retry, as the process reads them that takes it over. */
export function carriedOver(
  { firstAttemptAtMs, dueAtMs, notBeforeMs, urls }: RetryTimes,
  { dueMs, windowMs }: CarryOver,
): RetryTimes {
  return {
    firstAttemptAtMs: firstAttemptAtMs + windowMs,
    dueAtMs: dueAtMs + dueMs,
    ...(notBeforeMs === undefined ? {} : { notBeforeMs: notBeforeMs + dueMs }),
    ...(urls === undefined ? {} : { urls: urls.map((one) => ({ ...one, dueAtMs: one.dueAtMs + dueMs })) }),
  };
}
