import type { Identity, Store } from "@sluice/event-log";
import { StoreError } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Catalog } from "../destinations/catalog.js";
import type { Suppressions } from "../documents/suppressions.js";
import { type DeliveryCounts, deliveryCounts } from "../process/telemetry/delivery-counts.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { Logger } from "../process/telemetry/logger.js";
import type { Metrics } from "../process/telemetry/metrics.js";
import type { Tracing } from "../process/telemetry/tracing.js";
import { NO_TRANSFORMATIONS, type Transformations } from "../transformations/transformations.js";
import { disableTarget } from "./control/disable-target.js";
import { type TestSend, testSend } from "./control/test-send.js";
import type { DestinationStatus } from "./delivery-stage.js";
import { DELIVERY_DEFAULTS, type DeliveryPolicy } from "./delivery-stage.js";
import type { DestinationReading } from "./readings.js";
import { type RunParts, runDelivery, type WholeDelivery } from "./run-delivery.js";
import { deliveryEvents, deliveryTally } from "./settling/delivery-events.js";
import { type SpreadParts, spreadDelivery } from "./workers/spread-delivery.js";

export interface DeliveryDeps {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly live: LiveEvents;
  /** Counts deliveries by destination. Default: counts that nobody reads. */
  readonly counts?: DeliveryCounts;
  /** Default: nobody is suppressed. */
  readonly suppressions?: Pick<Suppressions, "covers" | "purged" | "takePurges" | "purges">;
  /** Default: a destination with a transformation keeps its messages waiting. */
  readonly transformations?: Transformations;
  /** Takes the spans of traced messages. Default: only the messages' own trace context is passed on. */
  readonly tracing?: Tracing | undefined;
  /** Nothing is sent before it resolves. Default: sending begins at once. */
  readonly mayBegin?: Promise<void>;
  /** Default: `DELIVERY_DEFAULTS`. */
  readonly policy?: Partial<DeliveryPolicy>;
  /** Other threads to deliver in. Default: none. */
  readonly threads?: Pick<SpreadParts, "count" | "startThread" | "companion"> | undefined;
}

export interface DeliveryRuntime
  extends Pick<WholeDelivery, "wake" | "requeued" | "discard" | "status" | "close"> {
  /**
   * Sends one made-up message through the real path. If it is delivered, a destination that is down is probed. Resolves with
   * undefined if there is no such destination.
   */
  test(destinationId: string): Promise<TestSend | undefined>;
  /** Call it when the messages of these ids are purged. Resolves when copies in memory are not delivered any more. */
  purged(identities: readonly Identity[]): Promise<void>;
}

/** Delivers the log to all destinations: in this thread, or in several. */
export async function startDelivery(deps: DeliveryDeps): Promise<DeliveryRuntime> {
  const { store, catalog, clock, logger, metrics, live, threads } = deps;
  const { counts = deliveryCounts(), transformations = NO_TRANSFORMATIONS } = deps;
  const tally = deliveryTally(metrics, counts);
  const parts: RunParts = {
    store,
    catalog,
    clock,
    logger,
    policy: { ...DELIVERY_DEFAULTS, ...deps.policy },
    events: deliveryEvents(logger, tally, live),
    suppressions: deps.suppressions,
    transformations,
    tracing: deps.tracing,
    mayBegin: deps.mayBegin,
    disableTarget: (destinationId, url) => disableTarget({ store, catalog, clock }, destinationId, url),
  };
  await resumeRetries(deps);
  const delivery: WholeDelivery =
    threads === undefined || threads.count === 0
      ? await runDelivery(parts)
      : await spreadDelivery({ ...parts, ...threads, store, logger, live, tally });
  registerGauges(metrics, () => delivery.readings(), clock);
  return {
    wake: (destinationId) => delivery.wake(destinationId),
    requeued: (destinationId) => delivery.requeued(destinationId),
    discard: (...args) => delivery.discard(...args),
    status: (destinationId) => delivery.status(destinationId),
    close: (graceMs) => delivery.close(graceMs),
    async test(destinationId) {
      const sent = await testSend({ store, catalog, clock, transformations }, destinationId);
      if (sent?.state === "delivered") delivery.wake(destinationId);
      return sent;
    },
    purged: (identities) => delivery.takePurges(deps.suppressions?.purged(identities) ?? []),
  };
}

async function resumeRetries({ store, clock, logger }: DeliveryDeps): Promise<void> {
  try {
    await store.consumers.resumeRetries(clock.monotonic());
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "data_damaged") throw error;
    logger.error("cannot convert the due times of waiting retries to this process's clock", { error });
  }
}

/** Registers the gauges of all destinations. The gauges of one scrape share one reading. */
function registerGauges(
  metrics: Metrics,
  readings: () => Promise<ReadonlyMap<string, DestinationReading>>,
  clock: Pick<Clock, "now">,
): void {
  const each = (read: (reading: DestinationReading) => number) => async () =>
    [...(await readings())].map(([id, reading]) => [[id], read(reading)] as const);
  metrics.gauges(
    "sluice_destination_backlog_messages",
    "Messages of the log that a destination has not reached yet, and those in their first round",
    ["destination"],
    each(({ backlog }) => backlog),
  );
  metrics.gauges(
    "sluice_destination_retries_waiting",
    "Messages that failed at a destination and wait for their next attempt",
    ["destination"],
    each(({ retries }) => retries),
  );
  metrics.gauges(
    "sluice_destination_backing_off",
    "1 while a destination is down and being probed, else 0",
    ["destination"],
    each(({ isBackingOff }) => (isBackingOff ? 1 : 0)),
  );
  const ofStatus = (read: (status: DestinationStatus) => number | undefined) => async () =>
    [...(await readings())].flatMap(([id, { status }]) => {
      const value = status && read(status);
      return value === undefined ? [] : [[[id], value] as const];
    });
  metrics.gauges(
    "sluice_destination_health",
    "1 for each destination's current health; the values of `health` are those of the control API",
    ["destination", "health"],
    async () =>
      [...(await readings())].flatMap(([id, { status }]) =>
        status === undefined ? [] : [[[id, status.health], 1] as const],
      ),
  );
  metrics.gauges(
    "sluice_destination_oldest_unread_seconds",
    "Age of the oldest message that a destination has not read yet; 0 if it has read all",
    ["destination"],
    ofStatus(({ oldestUnreadMs }) => secondsSince(oldestUnreadMs, clock)),
  );
  metrics.gauges(
    "sluice_destination_failing_seconds",
    "How long every attempt at a destination has failed; 0 if the last one succeeded",
    ["destination"],
    ofStatus(({ failingSinceMs }) => secondsSince(failingSinceMs, clock)),
  );
  metrics.gauges(
    "sluice_destination_retry_window_seconds",
    "How long a failed message is retried at a destination before it is given up",
    ["destination"],
    ofStatus(({ retryWindowMs }) => retryWindowMs && retryWindowMs / 1_000),
  );
}

function secondsSince(sinceMs: number | undefined, clock: Pick<Clock, "now">): number {
  return sinceMs === undefined ? 0 : Math.max(0, clock.now() - sinceMs) / 1_000;
}
