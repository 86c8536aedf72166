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
   *
   * Default: `"full"`.
   */
  readonly jitter?: "full" | "equal" | "none";
}

/** The delay before the `retry`-th retry (from 1), in whole milliseconds. `random` is uniform in [0, 1). */
export function backoffDelayMs(retry: number, options: BackoffOptions, random: number): number {
  const { initialMs, maxMs, factor = 2, jitter = "full" } = options;
  // The power overflows to Infinity for a large `retry`; the cap makes a number of it again.
  const delayMs = Math.min(maxMs, initialMs * factor ** (Math.max(1, retry) - 1));
  switch (jitter) {
    case "full":
      return Math.floor(delayMs * random);
    case "equal":
      return Math.floor(delayMs / 2 + (delayMs / 2) * random);
    case "none":
      return Math.floor(delayMs);
    default:
      return jitter satisfies never;
  }
}
