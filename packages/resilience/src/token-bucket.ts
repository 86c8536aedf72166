/** How fast a bucket fills, and up to where. */
export interface TokenBucketRate {
  /** Tokens added per second. */
  readonly perSecond: number;
  /** Tokens that the bucket holds at most. */
  readonly capacity: number;
}

/**
 * A token bucket is a value: the functions below make the next one from it. The rate is passed to each of them, so it may change
 * from one call to the next.
 *
 * @example
 * const rate = { perSecond: 100, capacity: 100 };
 * let bucket = fullBucket(rate, clock.monotonic());
 * // For each request:
 * bucket = refill(bucket, rate, clock.monotonic());
 * const waitMs = msUntilTokens(bucket, rate, 1);
 * if (waitMs === 0) bucket = takeTokens(bucket, 1);
 */
export interface TokenBucket {
  /** Below zero after more was taken than there was: the refill pays the debt first. */
  readonly tokens: number;
  /** The monotonic reading, in milliseconds, at which `tokens` was right. */
  readonly atMs: number;
}

/** A bucket filled to its capacity. */
export function fullBucket({ capacity }: TokenBucketRate, nowMs: number): TokenBucket {
  return { tokens: capacity, atMs: nowMs };
}

/** The bucket at `nowMs`, a monotonic reading in milliseconds. A reading before the last one adds nothing. */
export function refill(bucket: TokenBucket, rate: TokenBucketRate, nowMs: number): TokenBucket {
  const elapsedMs = Math.max(0, nowMs - bucket.atMs);
  return {
    tokens: Math.min(rate.capacity, bucket.tokens + (elapsedMs * rate.perSecond) / 1_000),
    atMs: Math.max(bucket.atMs, nowMs),
  };
}

/** The bucket without `count` tokens. It does not check whether they are there: the caller decides whether debt is allowed. */
export function takeTokens(bucket: TokenBucket, count: number): TokenBucket {
  return { tokens: bucket.tokens - count, atMs: bucket.atMs };
}

/**
 * Whole milliseconds from `bucket.atMs` until the bucket holds `count` tokens: 0 if it does now, `Infinity` if it never will because
 * `count` is over the capacity or the rate is 0.
 */
export function msUntilTokens(bucket: TokenBucket, rate: TokenBucketRate, count: number): number {
  if (bucket.tokens >= count) return 0;
  if (count > rate.capacity || rate.perSecond <= 0) return Number.POSITIVE_INFINITY;
  return Math.ceil(((count - bucket.tokens) * 1_000) / rate.perSecond);
}
