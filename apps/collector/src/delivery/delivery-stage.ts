import type { UrlHealthView } from "@sluice/control-api";
import type { JoinedStore } from "@sluice/event-log";
import type { CircuitBreakerOptions, Clock } from "@sluice/resilience";
import type { Catalog } from "../destinations/catalog.js";
import type { Suppressions } from "../documents/suppressions.js";
import type { Tracing } from "../process/telemetry/tracing.js";
import type { Transformations } from "../transformations/transformations.js";
import type { Health } from "./health/judge-health.js";
import type { MessageLoader } from "./reading/message-loader.js";
import type { SharedReader } from "./reading/shared-reader.js";
import type { Routing } from "./routing/match.js";
import type { DeliveryEvents } from "./settling/delivery-events.js";
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

/** What delivery needs of the store. It changes no documents. */
export type DeliveryStore = Pick<JoinedStore, "log" | "consumers" | "config">;

/** What all destinations share. */
export interface DeliveryStage {
  readonly store: DeliveryStore;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly policy: DeliveryPolicy;
  readonly events: DeliveryEvents;
  readonly reader: SharedReader;
  readonly loader: MessageLoader;
  readonly suppressions: Pick<Suppressions, "covers" | "takePurges" | "purges"> | undefined;
  readonly sources: Routing["sources"];
  readonly transformations: Transformations;
  readonly tracing: Tracing | undefined;
  /** Nothing is sent before it resolves. Undefined: at once. */
  readonly mayBegin: Promise<void> | undefined;
  /** Disables a URL that answered 410 Gone. Resolves with false if it was disabled already. */
  readonly disableTarget: (destinationId: string, url: string) => Promise<boolean>;
}

/** The current state of a destination. */
export interface DestinationStatus extends Health {
  readonly state: "delivering" | "disabled" | "backing_off";
  /** The targets, in the order of the settings with the disabled ones last. */
  readonly urls: readonly (Health<UrlHealthView["health"]> & { readonly url: string })[];
  readonly failingSinceMs?: number;
  /** How long a failed message is retried. Absent while nothing is delivered to it. */
  readonly retryWindowMs?: number;
  /** Targets that answered 410 Gone. */
  readonly disabledTargets: readonly string[];
  /** Messages of the log that it has not reached yet, and those in their first round. */
  readonly behind: number;
  /** Of those, messages that it will skip because they came while it was disabled. */
  readonly skipped: number;
  /** When the oldest unread message was received. */
  readonly oldestUnreadMs?: number;
  /** Failed messages that wait for their next attempt. */
  readonly retries: number;
  readonly inFlight: number;
  /** When a failing destination is probed next. */
  readonly nextProbeAtMs?: number;
  /** The error of the last failed attempt, until one succeeds. */
  readonly lastError?: string;
}
