import type { Offset, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS, followInTime, mirrorDocuments } from "@sluice/event-log";
import type { DestinationDocument, SourceDocument } from "../documents/documents.js";
import type { Purge } from "../documents/followed-suppressions.js";
import type { Logger } from "../process/telemetry/logger.js";
import type { DeliveryStage, DestinationStatus } from "./delivery-stage.js";
import { DestinationDelivery, type Discarding } from "./destination-delivery.js";
import { messageLoader } from "./reading/message-loader.js";
import { sharedReader } from "./reading/shared-reader.js";
import { type DestinationReading, readingsOf } from "./readings.js";

/** What delivers to some of the destinations, or to all: in this thread, or in another one. */
export interface RunningDelivery {
  /** Delivers to these destinations from now on, and to no others. Resolves when those that were taken away have ended. */
  assign(destinationIds: readonly string[]): Promise<void>;
  /** Checks the retry queue, and probes a destination that is down. */
  wake(destinationId: string): void;
  /** Checks the retry queue of a destination; without an id, those of all. */
  requeued(destinationId?: string): void;
  /** Ends deliveries as discarded. Resolves with the offsets of those that were; see `Consumer.discard`. */
  discard(
    destinationId: string,
    deliveries: readonly Discarding[],
    reason: string,
  ): Promise<readonly Offset[]>;
  status(destinationId: string): Promise<DestinationStatus | undefined>;
  /** Everything of these ids up to some offset was purged. Resolves when copies in memory are not delivered any more. */
  takePurges(purges: readonly Purge[]): Promise<void>;
  /** Numbers for metrics. Soon answered, whatever the store does. */
  readings(): Promise<ReadonlyMap<string, DestinationReading>>;
  /** Lets rounds in flight end for at most `graceMs`, and stores their results. */
  close(graceMs: number): Promise<void>;
}

/** What delivers to all destinations. */
export type WholeDelivery = Omit<RunningDelivery, "assign">;

export interface RunParts extends Omit<DeliveryStage, "reader" | "loader" | "sources"> {
  readonly logger: Pick<Logger, "error">;
  /** The destinations to begin with. Default: all, also those that are added. */
  readonly assigned?: readonly string[];
}

/**
 * Delivers the log to destinations, and follows their documents. Destinations do not wait for each other. When a change is answered,
 * nothing starts with the old settings any more.
 */
export async function runDelivery(parts: RunParts): Promise<RunningDelivery> {
  const { store, clock } = parts;
  let deliveries: ReadonlyMap<string, DestinationDelivery> = new Map();
  const transformedBy = new Map<string, string | undefined>();
  const sources = await mirrorDocuments<SourceDocument>(store.config, DOCUMENT_KINDS.source, (id, source) => {
    const before = transformedBy.get(id);
    const now = source?.value.transformationId;
    transformedBy.set(id, now);
    if (now !== before) for (const delivery of deliveries.values()) delivery.sourceTransformedAnew(id);
  });
  const stage: DeliveryStage = {
    ...parts,
    reader: sharedReader(store.log),
    loader: messageLoader(store.log, clock),
    sources,
  };
  const destinations = await followDestinations(stage, parts);
  deliveries = destinations.deliveries;
  const stopListening = store.log.onAppend(() => {
    for (const delivery of deliveries.values()) delivery.notify();
  });
  const stopFollowing = parts.transformations.onChange((id) => {
    for (const delivery of deliveries.values()) delivery.transformationChanged(id);
  });
  const readings = readingsOf(store.log, destinations.deliveries, clock);
  return {
    assign: destinations.assign,
    wake: (destinationId) => deliveries.get(destinationId)?.wake(),
    requeued(destinationId) {
      const some = destinationId === undefined ? deliveries.values() : [deliveries.get(destinationId)];
      for (const delivery of some) delivery?.requeued();
    },
    discard: async (destinationId, discarded, reason) =>
      (await deliveries.get(destinationId)?.discard(discarded, reason)) ?? [],
    status: async (destinationId) => deliveries.get(destinationId)?.status(),
    takePurges: async (purges) => parts.suppressions?.takePurges(purges),
    readings,
    async close(graceMs) {
      destinations.stop();
      sources.close();
      stopListening();
      stopFollowing();
      await Promise.all([...deliveries.values()].map((delivery) => delivery.close(graceMs)));
    },
  };
}

interface FollowedDestinations extends Pick<RunningDelivery, "assign"> {
  readonly deliveries: ReadonlyMap<string, DestinationDelivery>;
  /** Stops following the documents. */
  stop(): void;
}

/** A destination that is given to another worker lets its rounds in flight end for so long, in milliseconds. */
const HANDOVER_MS = 5_000;

/** Keeps one delivery for each destination that is assigned and has a document. */
async function followDestinations(
  stage: DeliveryStage,
  { logger, assigned: first }: Pick<RunParts, "logger" | "assigned">,
): Promise<FollowedDestinations> {
  const { store, clock } = stage;
  const deliveries = new Map<string, DestinationDelivery>();
  const known = new Map<string, DestinationDocument>();
  const closing = new AbortController();
  let assigned = first && new Set(first);
  /** During the start nothing waits for destinations to open: one that hangs must not delay the others. */
  let isStarting = true;
  const open = async (id: string, document: DestinationDocument): Promise<void> => {
    if (closing.signal.aborted || !(assigned?.has(id) ?? true)) return;
    const added = new DestinationDelivery(id, document, stage);
    deliveries.set(id, added);
    stage.events.added(id);
    const opening = added.open();
    await (isStarting ? added.consumerOpened : opening);
  };
  const follow = async (id: string, document: Versioned<DestinationDocument> | undefined): Promise<void> => {
    const delivery = deliveries.get(id);
    if (document === undefined) {
      known.delete(id);
      deliveries.delete(id);
      await delivery?.remove();
      return;
    }
    known.set(id, document.value);
    await (delivery === undefined ? open(id, document.value) : delivery.follow(document.value));
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
    async assign(destinationIds) {
      const now = new Set(destinationIds);
      assigned = now;
      const ended = [...deliveries].filter(([id]) => !now.has(id));
      for (const [id] of ended) deliveries.delete(id);
      for (const [id, document] of known) if (!deliveries.has(id)) void open(id, document);
      await Promise.all(ended.map(([, delivery]) => delivery.close(HANDOVER_MS)));
    },
    stop() {
      closing.abort();
      documents.close();
    },
  };
}
