/** How long to wait between attempts: exponential, with a cap and jitter. */
export interface BackoffOptions {
  /** The delay before the first retry, in milliseconds, before jitter. */
  readonly initialMs: number;
  /** No delay is longer than this, in milliseconds. */
  readonly maxMs: number;
  /** What each further retry multiplies the delay by. Default: 2. */
  readonly factor?: number;
  /**
   * - `"full"`: uniform between 0 and the delay; spreads a crowd of retries best.
   * - `"equal"`: uniform between half the delay and the delay; never retries at once.
   * - `"none"`: the delay itself.
   * - a number from 0 to 1: the share of the delay that is left to chance; "full" is 1, "equal" 0.5, "none" 0.
   *
   * Default: `"full"`.
   */
  readonly jitter?: "full" | "equal" | "none" | number;
}

const CHANCE = { full: 1, equal: 0.5, none: 0 } as const;

/** The delay before the `retry`-th retry (from 1), in whole milliseconds. `random` is uniform in [0, 1). */
export function backoffDelayMs(retry: number, options: BackoffOptions, random: number): number {
  const { initialMs, maxMs, factor = 2, jitter = "full" } = options;
  // The power overflows to Infinity for a large `retry`; the cap makes a number of it again.
  const delayMs = Math.min(maxMs, initialMs * factor ** (Math.max(1, retry) - 1));
  const chance = typeof jitter === "number" ? jitter : CHANCE[jitter];
  return Math.floor(delayMs * (1 - chance + chance * random));
}
