import { type BackoffOptions, backoffDelayMs } from "./backoff.js";

export interface CircuitBreakerOptions {
  /** Consecutive failures that open the breaker. */
  readonly failureThreshold: number;
  /** How long it stays open before the next probe. Grows with every probe that fails. */
  readonly openFor: BackoffOptions;
}

/** A breaker is a value that can be stored and compared: the functions below make the next one from it. */
export type CircuitBreaker =
  /** All calls may be made. */
  | { readonly kind: "closed"; readonly failures: number }
  /** No call may be made before `probeAtMs`, then one probe. `probes` have failed since it opened. */
  | { readonly kind: "open"; readonly probeAtMs: number; readonly probes: number }
  /** One probe is in progress. No other call may be made until it ends. */
  | { readonly kind: "probing"; readonly probes: number };

export const CLOSED_BREAKER: CircuitBreaker = { kind: "closed", failures: 0 };

/** Whether a call may be made at `nowMs`. If so, replace the breaker by `next`, which remembers a probe. */
export function admit(
  breaker: CircuitBreaker,
  nowMs: number,
):
  | { readonly admitted: true; readonly next: CircuitBreaker }
  | { readonly admitted: false; readonly retryAtMs?: number } {
  switch (breaker.kind) {
    case "closed":
      return { admitted: true, next: breaker };
    case "open":
      return nowMs >= breaker.probeAtMs
        ? { admitted: true, next: { kind: "probing", probes: breaker.probes } }
        : { admitted: false, retryAtMs: breaker.probeAtMs };
    case "probing":
      return { admitted: false };
    default:
      return breaker satisfies never;
  }
}

/** The breaker after a call succeeded. */
export function afterSuccess(breaker: CircuitBreaker): CircuitBreaker {
  return breaker.kind === "closed" && breaker.failures === 0 ? breaker : CLOSED_BREAKER;
}

/** The breaker after a call failed at `nowMs`. `random` is uniform in [0, 1). */
export function afterFailure(
  breaker: CircuitBreaker,
  options: CircuitBreakerOptions,
  nowMs: number,
  random: number,
): CircuitBreaker {
  switch (breaker.kind) {
    case "closed": {
      const failures = breaker.failures + 1;
      if (failures < options.failureThreshold) return { kind: "closed", failures };
      return { kind: "open", probeAtMs: nowMs + backoffDelayMs(1, options.openFor, random), probes: 0 };
    }
    case "probing": {
      const probes = breaker.probes + 1;
      return { kind: "open", probeAtMs: nowMs + backoffDelayMs(probes + 1, options.openFor, random), probes };
    }
    case "open":
      // The call was in progress when the breaker opened, so its failure is no news.
      return breaker;
    default:
      return breaker satisfies never;
  }
}
