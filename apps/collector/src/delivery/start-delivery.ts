import type { Offset, Store, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS, followInTime, mirrorDocuments, StoreError } from "@sluice/event-log";
import type { DestinationHealthView } from "@sluice/protocol";
import { type Clock, wallTimeAt } from "@sluice/resilience";
import type { Catalog } from "../destinations/catalog.js";
import type { Destination, Flow, Targets } from "../destinations/destination.js";
import type { DestinationDocument, SourceDocument } from "../documents/documents.js";
import type { Suppressions } from "../documents/suppressions.js";
import type { LiveEvents } from "../process/live-events.js";
import type { Logger } from "../process/logger.js";
import type { Metrics } from "../process/metrics.js";
import { Consumer } from "./consumer.js";
import { disableTarget } from "./control/disable-target.js";
import { judgeHealth, type LastTried, lastTriedBefore } from "./control/health.js";
import { type DeliveryEvents, deliveryEvents } from "./delivery-events.js";
import { DELIVERY_DEFAULTS, type DeliveryPolicy } from "./delivery-policy.js";
import { recallLines } from "./ordering/recall-lines.js";
import { owedCatchUps } from "./reading/catch-up.js";
import { type MessageLoader, messageLoader } from "./reading/message-loader.js";
import { type SharedReader, sharedReader } from "./reading/shared-reader.js";
import { type Routing, routingOf } from "./routing/match.js";
import { type TestSend, testSend } from "./sending/test-send.js";

export type { DeliveryPolicy } from "./delivery-policy.js";

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

/** How a destination does now. */
export interface DestinationStatus {
  readonly state: "delivering" | "disabled" | "backing_off";
  readonly health: DestinationHealthView;
  readonly failingSinceMs?: number;
  /** Targets that asked never to be called again. */
  readonly disabledTargets: readonly string[];
  /** Messages of the log that it has not come to yet, and those that it tries for the first time. */
  readonly behind: number;
  /** Messages that failed and wait for their next attempt. */
  readonly retries: number;
  readonly inFlight: number;
  /** When a destination that fails is probed next. */
  readonly nextProbeAtMs?: number;
  /** What the last attempt that failed ended with, until one succeeds. */
  readonly lastError?: string;
}

export interface DeliveryRuntime {
  /** Sends one made-up message through the real path; where it arrives, a dead destination is probed. Undefined: there is none. */
  test(destinationId: string): Promise<TestSend | undefined>;
  /** To be called after retries were put (`retryDelivery`, `replay`): they are looked at at once, and a dead destination probed. */
  wake(destinationId: string): void;
  status(destinationId: string): Promise<DestinationStatus | undefined>;
  /** Lets what is under way end for at most `graceMs`, and stores what it came to. */
  close(graceMs: number): Promise<void>;
}

const STORE_RETRY_MS = 1_000;

/**
 * Delivers the log to every destination that there is, and follows their documents as they change: each destination its own, so that
 * none waits for another. By the time a change is answered nothing begins by the settings of before.
 */
export async function startDelivery(deps: DeliveryDeps): Promise<DeliveryRuntime> {
  const { store, catalog, clock, logger, metrics, live } = deps;
  const policy = { ...DELIVERY_DEFAULTS, ...deps.policy };
  const sources = await mirrorDocuments<SourceDocument>(store.config, DOCUMENT_KINDS.source);
  const stage: Stage = {
    store,
    catalog,
    clock,
    policy,
    events: deliveryEvents(logger, metrics, live),
    reader: sharedReader(store.log),
    loader: messageLoader(store.log, clock),
    sources,
    suppressions: deps.suppressions,
  };
  const deliveries = new Map<string, DestinationDelivery>();
  const closing = new AbortController();
  await store.consumers.resumeRetries(clock.monotonic()).catch((error: unknown) => {
    if (!(error instanceof StoreError) || error.code !== "data_damaged") throw error;
    logger.error("the times of waiting retries could not be brought to this process's clock", { error });
  });

  /** Until then nothing waits for destinations to open: one that hangs must not hold up the start. */
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
  const destinations = await mirrorDocuments<DestinationDocument>(
    store.config,
    DOCUMENT_KINDS.destination,
    (id, document) => {
      const following = follow(id, document).catch((error: unknown) => {
        logger.error("a change of a destination could not be followed", { destination: id, error });
      });
      return followInTime(following, clock, closing.signal);
    },
  );
  isStarting = false;
  const stopListening = store.log.onAppend(() => {
    for (const delivery of deliveries.values()) delivery.notify();
  });
  registerGauges(metrics, deliveries);

  return {
    async test(destinationId) {
      const sent = await testSend({ store, catalog, clock }, destinationId);
      if (sent?.state === "delivered") deliveries.get(destinationId)?.wake();
      return sent;
    },
    wake: (destinationId) => deliveries.get(destinationId)?.wake(),
    async status(destinationId) {
      const delivery = deliveries.get(destinationId);
      return delivery?.status();
    },
    async close(graceMs) {
      closing.abort();
      destinations.close();
      sources.close();
      stopListening();
      await Promise.all([...deliveries.values()].map((delivery) => delivery.close(graceMs)));
    },
  };
}

/** What all destinations share. */
interface Stage {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly policy: DeliveryPolicy;
  readonly events: DeliveryEvents;
  readonly reader: SharedReader;
  readonly loader: MessageLoader;
  readonly suppressions: Pick<Suppressions, "covers"> | undefined;
  readonly sources: Routing["sources"];
}

/** One destination's consumer, kept in step with its document. */
class DestinationDelivery {
  readonly #id: string;
  readonly #stage: Stage;
  #document: DestinationDocument;
  #consumer: Consumer | undefined;
  #opening: Promise<void> = Promise.resolve();
  #consumerOpened: Promise<void> = Promise.resolve();
  /** Counts the times that the destination was to be opened or closed: an opening that ends later than the next began is not used. */
  #turn = 0;
  #isClosed = false;
  #cancelReopen: (() => void) | undefined;
  /** Why it cannot be opened with its settings as they are. */
  #cannotOpen: { readonly sinceMs: number; readonly error: string } | undefined;
  /** The order for which it is known who waits in the retry queue. */
  #recalledFor: Flow["order"] | undefined;
  #recalling: Promise<void> = Promise.resolve();
  /** When it was opened, in wall time and as a monotonic reading. */
  readonly #opened: { readonly atMs: number; readonly monotonicMs: number };
  #triedBefore: Promise<LastTried> | undefined;

  constructor(id: string, document: DestinationDocument, stage: Stage) {
    this.#id = id;
    this.#document = document;
    this.#stage = stage;
    this.#opened = { atMs: stage.clock.now(), monotonicMs: stage.clock.monotonic() };
  }

  /** Opens its consumer, then the destination itself. While the store fails it is tried again. */
  open(): Promise<void> {
    this.#consumerOpened = this.#takeUp();
    this.#opening = this.#consumerOpened.then(() =>
      this.#consumer === undefined || this.#isClosed ? undefined : this.#reopen(),
    );
    return this.#opening;
  }

  /** Resolves when its consumer is open, or cannot be opened now: not held up by how long the destination takes. */
  get consumerOpened(): Promise<void> {
    return this.#consumerOpened;
  }

  async #takeUp(): Promise<void> {
    const { events, clock } = this.#stage;
    const routing = this.#routing();
    if (routing === undefined) {
      events.cannotOpen(this.#id, new Error(`There is no destination type ${this.#document.type}`));
      return;
    }
    try {
      this.#consumer = await this.#openConsumer(routing);
    } catch (error) {
      if (this.#isClosed) return;
      events.storeFailed(this.#id, error);
      this.#cancelReopen = clock.after(STORE_RETRY_MS, () => void this.open());
      return;
    }
    if (this.#isClosed) return;
    // The document may have changed meanwhile.
    this.#consumer.route(this.#routing() ?? routing);
  }

  /** Nothing begins by the document of before once this returns; the promise resolves when the destination is open again. */
  async follow(document: DestinationDocument): Promise<void> {
    const before = this.#document;
    this.#document = document;
    const routing = this.#routing();
    if (this.#consumer === undefined || routing === undefined) {
      await this.#opening;
      return;
    }
    this.#consumer.route(routing);
    const isSame =
      before.enabled === document.enabled &&
      JSON.stringify(before.settings) === JSON.stringify(document.settings);
    if (!isSame) await this.#reopen();
  }

  notify(): void {
    this.#consumer?.notify();
  }

  wake(): void {
    this.#consumer?.wake();
  }

  async status(): Promise<DestinationStatus | undefined> {
    if (this.#consumer === undefined) return undefined;
    const { state, passed, takenUp, retries, inFlight, breaker, lastTried } = this.#consumer.status;
    const { behind } = await this.#stage.store.consumers.backlog(this.#id, passed);
    const last = await this.#judgedBy(lastTried);
    const { called, disabled } = this.#targets();
    return {
      state,
      health: judgeHealth(
        this.#cannotOpen === undefined ? state : "delivering",
        disabled.length === 0 ? "none" : called.length === 0 ? "all" : "some",
        last,
      ),
      ...(last.kind === "failed" ? { failingSinceMs: last.sinceMs, lastError: last.error } : {}),
      disabledTargets: disabled,
      behind: behind + takenUp,
      retries,
      inFlight,
      ...(breaker.kind === "open" ? { nextProbeAtMs: wallTimeAt(breaker.probeAtMs, this.#stage.clock) } : {}),
    };
  }

  /** What was tried last, with what is stored of the time before this process. */
  async #judgedBy(lastTried: LastTried): Promise<LastTried> {
    if (this.#cannotOpen !== undefined) return { kind: "failed", ...this.#cannotOpen };
    if (lastTried.kind === "delivered") return lastTried;
    const { store, clock } = this.#stage;
    const openedAtMs = { ended: this.#opened.atMs, pending: wallTimeAt(this.#opened.monotonicMs, clock) };
    this.#triedBefore ??= lastTriedBefore(store, this.#id, openedAtMs).catch((error: unknown) => {
      this.#triedBefore = undefined;
      throw error;
    });
    const before = await this.#triedBefore;
    if (lastTried.kind === "nothing") return before;
    return before.kind === "failed" ? { ...lastTried, sinceMs: before.sinceMs } : lastTried;
  }

  #targets(): Targets {
    const { type, settings } = this.#document;
    return this.#stage.catalog.get(type)?.targets?.(settings) ?? { called: [], disabled: [] };
  }

  /** Numbers for the metrics, which must not wait for the store. */
  get gauges():
    | { readonly behind: number; readonly retries: number; readonly isBackingOff: boolean }
    | undefined {
    if (this.#consumer === undefined) return undefined;
    const { passed, isAtEnd, takenUp, retries, state } = this.#consumer.status;
    const after = isAtEnd ? 0 : Math.max(0, this.#stage.store.log.head() - passed);
    return { behind: after + takenUp, retries, isBackingOff: state === "backing_off" };
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    this.#turn += 1;
    this.#cancelReopen?.();
    await this.#consumer?.close(graceMs);
  }

  /** The destination was deleted: what it has under way is cut off. */
  async remove(): Promise<void> {
    await this.close(0);
    // Not for the destination: it may hang as it opens, and is closed when it has.
    await this.#consumerOpened;
    await this.#stage.store.consumers.remove(this.#id);
  }

  #routing(): Routing | undefined {
    const document = this.#document;
    const type = this.#stage.catalog.get(document.type);
    const { sources, suppressions } = this.#stage;
    return type && routingOf(this.#id, document, type, sources, suppressions?.covers);
  }

  async #openConsumer(routing: Routing): Promise<Consumer> {
    const { document } = routing;
    const { store, reader, loader, clock, policy, events, catalog } = this.#stage;
    const head = store.log.head();
    const startAfter = Math.min(head, ...document.connections.map(({ since }) => since)) as Offset;
    const state = await store.consumers.open(this.#id, startAfter);
    const onGone = (url: string): void => {
      disableTarget({ store, catalog, clock }, this.#id, url).then(
        (isChanged) => isChanged && events.gone(this.#id, url),
        (error) => events.storeFailed(this.#id, error),
      );
    };
    const consumer = new Consumer(
      { destinationId: this.#id, store, reader, loader, clock, policy, events, onGone },
      state,
      routing,
    );
    for (const { sourceId, since } of await owedCatchUps(store, this.#id, document)) {
      consumer.catchUp(sourceId, since);
    }
    return consumer;
  }

  /** Resolves when it is known which messages wait whose users' order counts from now on; until then nothing may be begun. */
  #keepOrder(consumer: Consumer, order: Flow["order"]): Promise<void> {
    const recall = async (): Promise<void> => {
      const isKnown = this.#recalledFor === order || (this.#recalledFor !== undefined && order === "none");
      consumer.keepOrder(order);
      if (!isKnown) await recallLines(this.#stage.store, this.#id, consumer, order);
      this.#recalledFor = order;
    };
    this.#recalling = this.#recalling.then(recall, recall);
    return this.#recalling;
  }

  /**
   * Opens the destination with its settings as they are now, or none while it is disabled. With those of before nothing is begun from
   * the call on: a type that takes long to open holds up its own messages, and sends none where they are not to go any more.
   */
  async #reopen(): Promise<void> {
    const { clock, policy, events } = this.#stage;
    const consumer = this.#consumer;
    const document = this.#document;
    this.#turn += 1;
    const turn = this.#turn;
    this.#cancelReopen?.();
    if (consumer === undefined) return;
    consumer.use(undefined);
    if (!document.enabled) {
      this.#cannotOpen = undefined;
      return;
    }
    try {
      const destination = await this.#openFor(consumer, document);
      if (turn !== this.#turn) {
        await destination?.close();
        return;
      }
      this.#cannotOpen = undefined;
      consumer.use(destination);
    } catch (error) {
      if (turn !== this.#turn) return;
      events.cannotOpen(this.#id, error);
      this.#cannotOpen = {
        sinceMs: this.#cannotOpen?.sinceMs ?? clock.now(),
        error: error instanceof Error ? error.message : String(error),
      };
      this.#cancelReopen = clock.after(policy.reopenAfterMs, () => void this.#reopen());
    }
  }

  async #openFor(
    consumer: Consumer,
    { type, settings }: DestinationDocument,
  ): Promise<Destination | undefined> {
    const destination = await this.#stage.catalog.get(type)?.open(settings);
    if (destination === undefined) return undefined;
    try {
      await this.#keepOrder(consumer, destination.flow.order);
      return destination;
    } catch (error) {
      await destination.close();
      throw error;
    }
  }
}

function registerGauges(metrics: Metrics, deliveries: ReadonlyMap<string, DestinationDelivery>): void {
  type Gauges = NonNullable<DestinationDelivery["gauges"]>;
  const each = (read: (gauges: Gauges) => number) =>
    [...deliveries].flatMap(([id, { gauges }]) =>
      gauges === undefined ? [] : [[[id], read(gauges)] as const],
    );
  metrics.gauges(
    "sluice_destination_behind",
    "Places in the log that a destination has not come to yet, and messages that it tries for the first time",
    ["destination"],
    () => each(({ behind }) => behind),
  );
  metrics.gauges(
    "sluice_destination_retries",
    "Messages that failed at a destination and wait for their next attempt",
    ["destination"],
    () => each(({ retries }) => retries),
  );
  metrics.gauges(
    "sluice_destination_backing_off",
    "Whether a destination takes no messages and is being probed",
    ["destination"],
    () => each(({ isBackingOff }) => (isBackingOff ? 1 : 0)),
  );
}
