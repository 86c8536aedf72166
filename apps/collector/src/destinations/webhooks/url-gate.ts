import {
  admit,
  afterFailure,
  afterSuccess,
  type CircuitBreaker,
  CLOSED_BREAKER,
  type Clock,
} from "@sluice/resilience";

/**
 * Circuit breaker for one of several URLs. A URL that always times out would hold a connection for five seconds per
 * message, so after several timeouts in a row it is only probed. Other failures are fast and do not count.
 */
export interface UrlGate {
  /** Whether to post to the URL now. If it returns true, you must call `ended` afterwards. */
  admits(): boolean;
  ended(timedOut: boolean): void;
}

/** Consecutive timeouts before a URL is only probed, and the time between probes. */
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
