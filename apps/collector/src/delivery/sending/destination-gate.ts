import {
  admit,
  afterFailure,
  afterSuccess,
  type CircuitBreaker,
  type CircuitBreakerOptions,
  CLOSED_BREAKER,
} from "@sluice/resilience";
import type { RoundOutcome } from "../../destinations/destination.js";
import { fullRateLimit, type RateLimit, takePermit } from "./rate-limit.js";

/**
 * Whether a round may begin now.
 * - `open`: yes, any message.
 * - `dead`: the breaker lets none through before the next probe; those alone may go whose last attempt it is.
 * - `paced`: the rate limit's next permit comes later.
 */
export type Gate =
  | { readonly kind: "open" }
  | { readonly kind: "dead"; readonly untilMs: number | undefined }
  | { readonly kind: "paced"; readonly untilMs: number };

const OPEN: Gate = { kind: "open" };

/** A destination's breaker and rate limit, asked before each round and told how each ended. */
export class DestinationGate {
  readonly #options: CircuitBreakerOptions;
  #breaker: CircuitBreaker = CLOSED_BREAKER;
  #rate: RateLimit | undefined;
  /** What both were before the last `enter`. */
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

  /** The destination has new settings, which may be the cure: it begins as one that is well. */
  reset(perSecond: number | undefined, nowMs: number): void {
    this.#breaker = CLOSED_BREAKER;
    this.#rate = perSecond === undefined ? undefined : fullRateLimit(perSecond, nowMs);
  }

  ask(nowMs: number): Gate {
    // As it is nearly always.
    if (this.#breaker.kind === "closed" && this.#rate === undefined) return OPEN;
    const admission = admit(this.#breaker, nowMs);
    if (!admission.admitted) return { kind: "dead", untilMs: admission.retryAtMs };
    const permit = this.#rate && takePermit(this.#rate, nowMs);
    return permit === undefined || permit.taken ? OPEN : { kind: "paced", untilMs: permit.retryAtMs };
  }

  /** A round is about to begin: takes the permit, and makes it the probe where one was due. */
  enter(nowMs: number): void {
    if (this.#breaker.kind === "closed" && this.#rate === undefined) return;
    this.#before = [this.#breaker, this.#rate];
    const admission = admit(this.#breaker, nowMs);
    if (admission.admitted) this.#breaker = admission.next;
    const permit = this.#rate && takePermit(this.#rate, nowMs);
    if (permit?.taken) this.#rate = permit.next;
  }

  /** There was nothing to begin: as if `enter` had not been called. */
  takeBack(): void {
    if (this.#breaker.kind === "closed" && this.#rate === undefined) return;
    [this.#breaker, this.#rate] = this.#before;
  }

  /** Somebody wants to know now: the next message probes a dead destination. */
  probeNow(nowMs: number): void {
    if (this.#breaker.kind === "open") this.#breaker = { ...this.#breaker, probeAtMs: nowMs };
  }

  /** What was to be the probe turned out not to be sent at all: the next message is it. */
  probeNotSent(nowMs: number): void {
    if (this.#breaker.kind !== "probing") return;
    this.#breaker = { kind: "open", probes: this.#breaker.probes, probeAtMs: nowMs };
  }

  /** What a round says about the destination as a whole. */
  observe(outcome: Exclude<RoundOutcome, { kind: "aborted" }>, nowMs: number, random: number): void {
    const alive = outcome.kind === "retry" ? outcome.alive : true;
    // Some of several URLs failed again, as before: that says nothing new, unless it was to tell whether any lives.
    if (alive === "unknown" && !this.isProbing) return;
    if (alive === true || outcome.kind !== "retry") {
      this.#breaker = afterSuccess(this.#breaker);
      return;
    }
    const after = afterFailure(this.#breaker, this.#options, nowMs, random);
    // A receiver that says when to come again is not probed before.
    const notBeforeMs = nowMs + (outcome.retryAfterMs ?? 0);
    this.#breaker =
      after.kind === "open" && after.probeAtMs < notBeforeMs ? { ...after, probeAtMs: notBeforeMs } : after;
  }
}
