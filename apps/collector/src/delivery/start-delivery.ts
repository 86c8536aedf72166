import type { Offset, Store, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS, followInTime, mirrorDocuments, StoreError } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Catalog } from "../destinations/catalog.js";
import type { DestinationDocument, SourceDocument } from "../documents/documents.js";
import type { Suppressions } from "../documents/suppressions.js";
import { type DeliveryCounts, deliveryCounts } from "../process/telemetry/delivery-counts.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { Logger } from "../process/telemetry/logger.js";
import type { Metrics } from "../process/telemetry/metrics.js";
import type { Tracing } from "../process/telemetry/tracing.js";
import type { Discardable } from "./consumer.js";
import { disableTarget } from "./control/disable-target.js";
import { type TestSend, testSend } from "./control/test-send.js";
import { registerGauges } from "./delivery-gauges.js";
import { DELIVERY_DEFAULTS, type DeliveryPolicy } from "./delivery-policy.js";
import type { DeliveryStage, DestinationStatus } from "./delivery-stage.js";
import { DestinationDelivery } from "./destination-delivery.js";
import { messageLoader } from "./reading/message-loader.js";
import { sharedReader } from "./reading/shared-reader.js";
import { deliveryEvents } from "./settling/delivery-events.js";

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
  readonly suppressions?: Pick<Suppressions, "covers">;
  /** Takes the spans of traced messages. Default: only the messages' own trace context is passed on. */
  readonly tracing?: Tracing | undefined;
  /** Nothing is sent before it resolves. Default: sending begins at once. */
  readonly mayBegin?: Promise<void>;
  /** Default: `DELIVERY_DEFAULTS`. */
  readonly policy?: Partial<DeliveryPolicy>;
}

export interface DeliveryRuntime {
  /**
   * Sends one made-up message through the real path. If it is delivered, a destination that is down is probed. Resolves with
   * undefined if there is no such destination.
   */
  test(destinationId: string): Promise<TestSend | undefined>;
  /** Call it after retries were put (`retryDelivery`): they start at once, and a destination that is down is probed. */
  wake(destinationId: string): void;
  /** Call it after retries were put that need not probe a destination that is down. */
  requeued(destinationId: string): void;
  /** Call it after retries were removed from the store: every destination counts its own again. */
  retriesRemoved(): void;
  /** Ends deliveries as discarded. Returns the offsets of those that were; see `Consumer.discard`. */
  discard(destinationId: string, deliveries: readonly Discardable[], reason: string): readonly Offset[];
  status(destinationId: string): Promise<DestinationStatus | undefined>;
  /** Lets rounds in flight end for at most `graceMs`, and stores their results. */
  close(graceMs: number): Promise<void>;
}

/**
 * Delivers the log to all destinations, and follows their documents. Destinations do not wait for each other. When a change is
 * answered, nothing starts with the old settings any more.
 */
export async function startDelivery(deps: DeliveryDeps): Promise<DeliveryRuntime> {
  const { store, catalog, clock, logger, metrics, live, counts = deliveryCounts() } = deps;
  const sources = await mirrorDocuments<SourceDocument>(store.config, DOCUMENT_KINDS.source);
  const stage: DeliveryStage = {
    store,
    catalog,
    clock,
    policy: { ...DELIVERY_DEFAULTS, ...deps.policy },
    events: deliveryEvents(logger, metrics, live, counts),
    reader: sharedReader(store.log),
    loader: messageLoader(store.log, clock),
    sources,
    suppressions: deps.suppressions,
    tracing: deps.tracing,
    mayBegin: deps.mayBegin,
    disableTarget: (destinationId, url) => disableTarget({ store, catalog, clock }, destinationId, url),
  };
  await resumeRetries(deps);
  const destinations = await followDestinations(stage, logger);
  const { deliveries } = destinations;
  const stopListening = store.log.onAppend(() => {
    for (const delivery of deliveries.values()) delivery.notify();
  });
  registerGauges(metrics, store.log, deliveries, clock);

  return {
    async test(destinationId) {
      const sent = await testSend({ store, catalog, clock }, destinationId);
      if (sent?.state === "delivered") deliveries.get(destinationId)?.wake();
      return sent;
    },
    wake: (destinationId) => deliveries.get(destinationId)?.wake(),
    requeued: (destinationId) => deliveries.get(destinationId)?.requeued(),
    retriesRemoved() {
      for (const delivery of deliveries.values()) delivery.requeued();
    },
    discard: (destinationId, discarded, reason) =>
      deliveries.get(destinationId)?.discard(discarded, reason) ?? [],
    status: async (destinationId) => deliveries.get(destinationId)?.status(),
    async close(graceMs) {
      destinations.stop();
      sources.close();
      stopListening();
      await Promise.all([...deliveries.values()].map((delivery) => delivery.close(graceMs)));
    },
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

interface FollowedDestinations {
  readonly deliveries: ReadonlyMap<string, DestinationDelivery>;
  /** Stops following the documents. */
  stop(): void;
}

/** Keeps one delivery for each destination document. */
async function followDestinations(stage: DeliveryStage, logger: Logger): Promise<FollowedDestinations> {
  const { store, clock } = stage;
  const deliveries = new Map<string, DestinationDelivery>();
  const closing = new AbortController();
  /** During the start nothing waits for destinations to open: one that hangs must not delay the others. */
  let isStarting = true;
  const follow = async (id: string, document: Versioned<DestinationDocument> | undefined): Promise<void> => {
    const delivery = deliveries.get(id);
    if (document === undefined) {
      deliveries.delete(id);
      await delivery?.remove();
    } else if (delivery !== undefined) await delivery.follow(document.value);
    else if (!closing.signal.aborted) {
      const added = new DestinationDelivery(id, document.value, stage);
      deliveries.set(id, added);
      stage.events.added(id);
      const opening = added.open();
      await (isStarting ? added.consumerOpened : opening);
    }
  };
  const documents = await mirrorDocuments<DestinationDocument>(
    store.config,
    DOCUMENT_KINDS.destination,
    (id, document) => {
      const following = follow(id, document).catch((error: unknown) => {
        logger.error("cannot follow a change of a destination", { destination: id, error });
      });
      return followInTime(following, clock, closing.signal);
    },
  );
  isStarting = false;
  return {
    deliveries,
    stop() {
      closing.abort();
      documents.close();
    },
  };
}
