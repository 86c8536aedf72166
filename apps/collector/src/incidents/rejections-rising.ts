import type { RatePointView } from "@sluice/control-api";

/** Messages of one period. */
export interface Counted {
  readonly accepted: number;
  readonly rejected: number;
}

/** The time that is compared with the day before, in milliseconds. */
export const RECENT_MS = 10 * 60_000;
/** Fewer rejected messages in that time are no reason to wake somebody. */
export const LEAST_REJECTED = 100;
/** The share of rejected messages from which on they count as many. */
export const LEAST_SHARE = 0.05;
/** How much larger than usual the share must be. */
export const TIMES_USUAL = 3;

/**
 * Whether many more messages than usual are rejected: at least 100 in the last ten minutes, more than 5 % of all, and three times the
 * share of the day before. Once that holds, it is over when one of the first two no longer holds.
 */
export function areRejectionsRising(recent: Counted, usual: Counted, wasRising: boolean): boolean {
  if (recent.rejected < LEAST_REJECTED || shareOf(recent) < LEAST_SHARE) return false;
  return wasRising || shareOf(recent) >= TIMES_USUAL * shareOf(usual);
}

export function shareOf({ accepted, rejected }: Counted): number {
  const all = accepted + rejected;
  return all === 0 ? 0 : rejected / all;
}

/** The sum of the points that ended after `fromMs`, and not after `toMs`. */
export function countBetween(points: readonly RatePointView[], fromMs: number, toMs: number): Counted {
  let [accepted, rejected] = [0, 0];
  for (const point of points) {
    const atMs = Date.parse(point.at);
    if (atMs <= fromMs || atMs > toMs) continue;
    accepted += point.accepted;
    rejected += point.rejected;
  }
  return { accepted, rejected };
}
