export { type BackoffOptions, backoffDelayMs } from "./backoff.js";
export {
  admit,
  afterFailure,
  afterSuccess,
  type CircuitBreaker,
  type CircuitBreakerOptions,
  CLOSED_BREAKER,
} from "./circuit-breaker.js";
export { backgroundClock, type CancelTimer, type Clock, systemClock, wallTimeAt } from "./clock.js";
export { type EarlyEnd, earlyEnd } from "./early-end.js";
export { parseRetryAfter } from "./retry-after.js";
export {
  coalesced,
  type KeyedSerialQueue,
  keyedSerialQueue,
  type Release,
  type Semaphore,
  type SerialQueue,
  semaphore,
  serialQueue,
} from "./serial-queue.js";
export {
  fullBucket,
  msUntilTokens,
  refill,
  type TokenBucket,
  type TokenBucketRate,
  takeTokens,
} from "./token-bucket.js";
