import type { CircuitBreakerOptions } from "@sluice/resilience";
import { RETRY_DEFAULTS, type RetryPolicy } from "./settling/retry-schedule.js";

export interface DeliveryPolicy {
  readonly retry: RetryPolicy;
  /**
   * When a destination counts as dead, and how it is probed then. Default: after 10 rounds in a row that failed; probes
   * after 0.5 to 1 s, doubling, at most 2 min apart.
   */
  readonly breaker: CircuitBreakerOptions;
  /** How long a destination that could not be opened waits for the next try, in milliseconds. Default: 30_000. */
  readonly reopenAfterMs: number;
}

export const DELIVERY_DEFAULTS: DeliveryPolicy = {
  retry: RETRY_DEFAULTS,
  breaker: { failureThreshold: 10, openFor: { initialMs: 1_000, maxMs: 120_000, jitter: "equal" } },
  reopenAfterMs: 30_000,
};
