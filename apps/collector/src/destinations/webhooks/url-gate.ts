import {
  admit,
  afterFailure,
  afterSuccess,
  type CircuitBreaker,
  CLOSED_BREAKER,
  type Clock,
} from "@sluice/resilience";

/**
 * Whether a URL is worth its time in a round in which another URL may take the message: one that only ever runs into the
 * deadline would hold a connection for each message, five seconds long. Refusals cost nothing and do not count.
 */
export interface UrlGate {
  /** Whether to post to it now. Where it says yes, `ended` must follow. */
  admits(): boolean;
  ended(timedOut: boolean): void;
}

/** Timeouts in a row after which a URL is only probed, and how far apart the probes are. */
const OPTIONS = {
  failureThreshold: 5,
  openFor: { initialMs: 1_000, maxMs: 60_000, jitter: "equal" },
} as const;

export function urlGate(clock: Clock): UrlGate {
  let breaker: CircuitBreaker = CLOSED_BREAKER;
  return {
    admits() {
      const gate = admit(breaker, clock.monotonic());
      if (gate.admitted) breaker = gate.next;
      return gate.admitted;
    },
    ended(timedOut) {
      breaker = timedOut
        ? afterFailure(breaker, OPTIONS, clock.monotonic(), clock.random())
        : afterSuccess(breaker);
    },
  };
}
