/** A bucket of permits that fills with time; a value, like the circuit breaker's. Holds at most one second's worth. */
export interface RateLimit {
  readonly perSecond: number;
  readonly permits: number;
  readonly atMs: number;
}

export function fullRateLimit(perSecond: number, nowMs: number): RateLimit {
  return { perSecond, permits: Math.max(1, perSecond), atMs: nowMs };
}

/** The bucket after taking one permit, or when the next will be there. */
export function takePermit(
  limit: RateLimit,
  nowMs: number,
):
  | { readonly taken: true; readonly next: RateLimit }
  | { readonly taken: false; readonly retryAtMs: number } {
  const { perSecond } = limit;
  const elapsedMs = nowMs - limit.atMs;
  const permits = Math.min(Math.max(1, perSecond), limit.permits + (elapsedMs * perSecond) / 1_000);
  if (permits >= 1) return { taken: true, next: { perSecond, permits: permits - 1, atMs: nowMs } };
  return { taken: false, retryAtMs: nowMs + Math.ceil(((1 - permits) * 1_000) / perSecond) };
}
