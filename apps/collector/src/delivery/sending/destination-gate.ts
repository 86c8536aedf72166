import {
  admit,
  afterFailure,
  afterSuccess,
  type CircuitBreaker,
  type CircuitBreakerOptions,
  CLOSED_BREAKER,
  fullBucket,
  msUntilTokens,
  refill,
  type TokenBucket,
  type TokenBucketRate,
  takeTokens,
} from "@sluice/resilience";
import type { CountedOutcome } from "../../destinations/destination.js";

/**
 * Whether a round may start now.
 * - `open`: yes, for any message.
 * - `dead`: the breaker admits nothing until the next probe. Only messages on their last attempt may go.
 * - `paced`: the rate limit allows the next round later.
 */
export type Gate =
  | { readonly kind: "open" }
  | { readonly kind: "dead"; readonly untilMs: number | undefined }
  | { readonly kind: "paced"; readonly untilMs: number };

const OPEN: Gate = { kind: "open" };

interface RateLimit {
  readonly rate: TokenBucketRate;
  readonly bucket: TokenBucket;
}

/** A destination's circuit breaker and rate limit. Ask it before each round, and report each outcome to it. */
export class DestinationGate {
  readonly #options: CircuitBreakerOptions;
  #breaker: CircuitBreaker = CLOSED_BREAKER;
  #limit: RateLimit | undefined;
  /** The state before the last `enter`. */
  #before: readonly [CircuitBreaker, RateLimit | undefined] = [CLOSED_BREAKER, undefined];

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  get breaker(): CircuitBreaker {
    return this.#breaker;
  }

  get isProbing(): boolean {
    return this.#breaker.kind === "probing";
  }

  /** The destination has new settings, which may fix it: breaker and rate limit start fresh. `perSecond` absent: no limit. */
  reset(perSecond: number | undefined, nowMs: number): void {
    this.#breaker = CLOSED_BREAKER;
    if (perSecond === undefined) this.#limit = undefined;
    else {
      const rate = { perSecond, capacity: Math.max(1, perSecond) };
      this.#limit = { rate, bucket: fullBucket(rate, nowMs) };
    }
  }

  ask(nowMs: number): Gate {
    const admission = admit(this.#breaker, nowMs);
    if (!admission.admitted) return { kind: "dead", untilMs: admission.retryAtMs };
    if (this.#limit === undefined) return OPEN;
    const { bucket, rate } = refilled(this.#limit, nowMs);
    const waitMs = msUntilTokens(bucket, rate, 1);
    return waitMs === 0 ? OPEN : { kind: "paced", untilMs: nowMs + waitMs };
  }

  /** A round is about to start: takes a token, and makes it the probe if one was due. */
  enter(nowMs: number): void {
    this.#before = [this.#breaker, this.#limit];
    const admission = admit(this.#breaker, nowMs);
    if (admission.admitted) this.#breaker = admission.next;
    if (this.#limit === undefined) return;
    const limit = refilled(this.#limit, nowMs);
    this.#limit = { ...limit, bucket: takeTokens(limit.bucket, 1) };
  }

  /** There was nothing to start: undoes the last `enter`. */
  takeBack(): void {
    [this.#breaker, this.#limit] = this.#before;
  }

  /** Lets the next message probe a dead destination at once. */
  probeNow(nowMs: number): void {
    if (this.#breaker.kind === "open") this.#breaker = { ...this.#breaker, probeAtMs: nowMs };
  }

  /** The probe was not sent after all: the next message becomes the probe. */
  probeNotSent(nowMs: number): void {
    if (this.#breaker.kind !== "probing") return;
    this.#breaker = { kind: "open", probes: this.#breaker.probes, probeAtMs: nowMs };
  }

  /** Updates the breaker with the outcome of a round. A `Retry-After` delays the next probe by `longestWaitMs` at most. */
  observe(
    outcome: Exclude<CountedOutcome, { kind: "filtered" }>,
    { nowMs, random, longestWaitMs }: { nowMs: number; random: number; longestWaitMs: number },
  ): void {
    if (isAlive(outcome)) {
      this.#breaker = afterSuccess(this.#breaker);
      return;
    }
    // Only some of several URLs were tried, and failed again. That is news only for a probe.
    if (outcome.kind === "retry" && outcome.alive === "unknown" && !this.isProbing) return;
    const after = afterFailure(this.#breaker, this.#options, nowMs, random);
    // A Retry-After also delays the probe.
    const askedMs = outcome.kind === "retry" ? (outcome.retryAfterMs ?? 0) : 0;
    const notBeforeMs = nowMs + Math.min(askedMs, longestWaitMs);
    this.#breaker =
      after.kind === "open" && after.probeAtMs < notBeforeMs ? { ...after, probeAtMs: notBeforeMs } : after;
  }
}

/** Whether the round shows that the destination works, whatever became of the message. */
function isAlive(outcome: Exclude<CountedOutcome, { kind: "filtered" }>): boolean {
  if (outcome.kind === "failed") return outcome.countsAgainst !== true;
  return outcome.kind === "delivered" || outcome.alive === true;
}

function refilled({ rate, bucket }: RateLimit, nowMs: number): RateLimit {
  return { rate, bucket: refill(bucket, rate, nowMs) };
}
