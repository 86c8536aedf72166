/** Exponential backoff with a cap and jitter. */
export interface BackoffOptions {
  /** The delay before the first retry, in milliseconds, without jitter. */
  readonly initialMs: number;
  /** The longest delay, in milliseconds. */
  readonly maxMs: number;
  /** The delay is multiplied by this for each further retry. Default: 2. */
  readonly factor?: number;
  /**
   * - `"full"`: uniform between 0 and the delay. Spreads many retries best.
   * - `"equal"`: uniform between half the delay and the delay. Never retries at once.
   * - `"none"`: the delay itself.
   * - a number from 0 to 1: the random share of the delay. "full" is 1, "equal" 0.5, "none" 0.
   *
   * Default: `"full"`.
   */
  readonly jitter?: "full" | "equal" | "none" | number;
}

const RANDOM_SHARE = { full: 1, equal: 0.5, none: 0 } as const;

/** The delay before the `retry`-th retry (from 1), in whole milliseconds. `random` is uniform in [0, 1). */
export function backoffDelayMs(retry: number, options: BackoffOptions, random: number): number {
  const { initialMs, maxMs, factor = 2, jitter = "full" } = options;
  // For a large `retry` the power is Infinity, which `min` replaces by the cap.
  const delayMs = Math.min(maxMs, initialMs * factor ** (Math.max(1, retry) - 1));
  const share = typeof jitter === "number" ? jitter : RANDOM_SHARE[jitter];
  return Math.floor(delayMs * (1 - share + share * random));
}
