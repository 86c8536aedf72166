import type { CircuitBreakerOptions } from "@sluice/resilience";
import { RETRY_DEFAULTS, type RetryPolicy } from "./settling/retry-schedule.js";

export interface DeliveryPolicy {
  readonly retry: RetryPolicy;
  /**
   * When a destination counts as down, and how it is probed. Default: after 10 failed rounds in a row; the first probe after 0.5 to
   * 1 s, then twice as long each time, at most 2 min.
   */
  readonly breaker: CircuitBreakerOptions;
  /** How long to wait before another try to open a destination that could not be opened, in milliseconds. Default: 30_000. */
  readonly reopenAfterMs: number;
}

export const DELIVERY_DEFAULTS: DeliveryPolicy = {
  retry: RETRY_DEFAULTS,
  breaker: { failureThreshold: 10, openFor: { initialMs: 1_000, maxMs: 120_000, jitter: "equal" } },
  reopenAfterMs: 30_000,
};
