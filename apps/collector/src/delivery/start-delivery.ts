import type { Store, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS, followInTime, mirrorDocuments, StoreError } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Catalog } from "../destinations/catalog.js";
import type { DestinationDocument, SourceDocument } from "../documents/documents.js";
import type { Suppressions } from "../documents/suppressions.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { Logger } from "../process/telemetry/logger.js";
import type { Metrics } from "../process/telemetry/metrics.js";
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
  /** Default: nobody is suppressed. */
  readonly suppressions?: Pick<Suppressions, "covers">;
  /** Default: `DELIVERY_DEFAULTS`. */
  readonly policy?: Partial<DeliveryPolicy>;
}

export interface DeliveryRuntime {
  /**
   * Sends one made-up message through the real path. If it is delivered, a destination that is down is probed. Resolves with
   * undefined if there is no such destination.
   */
  test(destinationId: string): Promise<TestSend | undefined>;
  /** Call it after retries were put (`retryDelivery`, `replay`): they start at once, and a destination that is down is probed. */
  wake(destinationId: string): void;
  status(destinationId: string): Promise<DestinationStatus | undefined>;
  /** Lets rounds in flight end for at most `graceMs`, and stores their results. */
  close(graceMs: number): Promise<void>;
}

/**
 * Delivers the log to all destinations, and follows their documents. Destinations do not wait for each other. When a change is
 * answered, nothing starts with the old settings any more.
 */
export async function startDelivery(deps: DeliveryDeps): Promise<DeliveryRuntime> {
  const { store, catalog, clock, logger, metrics, live } = deps;
  const sources = await mirrorDocuments<SourceDocument>(store.config, DOCUMENT_KINDS.source);
  const stage: DeliveryStage = {
    store,
    catalog,
    clock,
    policy: { ...DELIVERY_DEFAULTS, ...deps.policy },
    events: deliveryEvents(logger, metrics, live),
    reader: sharedReader(store.log),
    loader: messageLoader(store.log, clock),
    sources,
    suppressions: deps.suppressions,
  };
  await resumeRetries(deps);
  const destinations = await followDestinations(stage, logger);
  const { deliveries } = destinations;
  const stopListening = store.log.onAppend(() => {
    for (const delivery of deliveries.values()) delivery.notify();
  });
  registerGauges(metrics, store.log, deliveries);

  return {
    async test(destinationId) {
      const sent = await testSend({ store, catalog, clock }, destinationId);
      if (sent?.state === "delivered") deliveries.get(destinationId)?.wake();
      return sent;
    },
    wake: (destinationId) => deliveries.get(destinationId)?.wake(),
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
