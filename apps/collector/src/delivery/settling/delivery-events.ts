import type { FinalState, StoredMessage } from "@sluice/event-log";
import type { CircuitBreaker } from "@sluice/resilience";
import type { DeliveryCounts } from "../../process/telemetry/delivery-counts.js";
import type { LiveEvents } from "../../process/telemetry/live-events.js";
import type { Logger } from "../../process/telemetry/logger.js";
import { DELIVERY_LATENCY_BUCKETS_SECONDS, type Metrics } from "../../process/telemetry/metrics.js";

/** Reports what happens in delivery: metrics, log lines, the live stream. */
export interface DeliveryEvents {
  /** A destination exists from now on: its counters start at 0. */
  added(destinationId: string): void;
  finished(
    destinationId: string,
    stored: StoredMessage,
    state: FinalState,
    reason: string,
    atMs: number,
  ): void;
  retrying(
    destinationId: string,
    stored: StoredMessage,
    reason: string,
    atMs: number,
    nextAttemptAtMs: number,
  ): void;
  breaker(destinationId: string, before: CircuitBreaker, after: CircuitBreaker, reason: string): void;
  gone(destinationId: string, url: string): void;
  cannotOpen(destinationId: string, error: unknown): void;
  storeFailed(destinationId: string, error: unknown): void;
}

/** Counts what ended in delivery. */
export interface DeliveryTally {
  added(destinationId: string): void;
  /** `seconds`: from receipt until it ended. */
  ended(destinationId: string, state: FinalState, seconds: number): void;
  retried(destinationId: string): void;
}

/** Counts in the metrics and in the counters over time. */
export function deliveryTally(
  metrics: Metrics,
  counts: Pick<DeliveryCounts, "delivered" | "failed" | "retried">,
): DeliveryTally {
  const outcomes = metrics.counter(
    "sluice_deliveries_total",
    "Messages that ended at a destination, by outcome",
    ["destination", "state"],
  );
  const retries = metrics.counter("sluice_delivery_retries_total", "Failed rounds that are retried", [
    "destination",
  ]);
  const latency = metrics.histogram(
    "sluice_delivery_latency_seconds",
    "Time from receipt to delivery",
    DELIVERY_LATENCY_BUCKETS_SECONDS,
  );
  return {
    added(destinationId) {
      for (const state of ["delivered", "failed"]) outcomes.inc([destinationId, state], 0);
      retries.inc([destinationId], 0);
    },
    ended(destinationId, state, seconds) {
      outcomes.inc([destinationId, state]);
      if (state === "delivered") {
        latency.observe(seconds);
        counts.delivered(destinationId, seconds);
      } else if (state === "failed") counts.failed(destinationId);
    },
    retried(destinationId) {
      retries.inc([destinationId]);
      counts.retried(destinationId);
    },
  };
}

export function deliveryEvents(
  logger: Pick<Logger, "info" | "warn" | "error">,
  tally: DeliveryTally,
  live: Pick<LiveEvents, "watched" | "publish">,
): DeliveryEvents {
  return {
    added: (destinationId) => tally.added(destinationId),
    finished(destinationId, stored, state, reason, atMs) {
      tally.ended(destinationId, state, Math.max(0, atMs - stored.receivedAtMs) / 1_000);
      if (!live.watched) return;
      const { offset, messageId } = stored;
      live.publish({ kind: "outcome", destinationId, offset, messageId, state, reason, atMs }, stored);
    },
    retrying(destinationId, stored, reason, atMs, nextAttemptAtMs) {
      tally.retried(destinationId);
      if (!live.watched) return;
      const { offset, messageId } = stored;
      const state = "pending";
      live.publish(
        { kind: "outcome", destinationId, offset, messageId, state, reason, atMs, nextAttemptAtMs },
        stored,
      );
    },
    breaker(destinationId, before, after, reason) {
      if (before.kind === "closed" && after.kind === "open") {
        logger.warn("destination is down: its messages wait, and it is probed", {
          destinationId,
          reason,
        });
      }
      if (before.kind !== "closed" && after.kind === "closed") {
        logger.info("destination has recovered", { destinationId });
      }
    },
    gone(destinationId, url) {
      logger.error("webhook answered 410 Gone: its URL is disabled until you enable it again", {
        destinationId,
        url,
      });
    },
    cannotOpen(destinationId, error) {
      logger.error("destination cannot be opened: its messages wait", { destinationId, error });
    },
    storeFailed(destinationId, error) {
      logger.error("delivery waits for the store", { destinationId, error });
    },
  };
}
