const HOUR_MS = 3_600_000;

/** The longest wait between two attempts, which is also the length of the last part of a window: a sixteenth of it, at most an hour. */
export function longestGapMs(windowMs: number): number {
  return Math.min(windowMs / 16, HOUR_MS);
}
