import type { DestinationHealthView } from "@sluice/protocol";
import { type Clock, wallTimeAt } from "@sluice/resilience";
import type { Catalog } from "../destinations/catalog.js";
import type { Flow, Targets } from "../destinations/destination.js";
import type { LiveEvents } from "../live-events.js";
import type { Logger } from "../logger.js";
import type { Metrics } from "../metrics.js";
import { type DestinationDocument, DOCUMENT_KINDS, type SourceDocument } from "../store/documents.js";
import type { Offset, Store, Versioned } from "../store/store.js";
import type { Suppressions } from "../store/suppressions.js";
import { owedCatchUps } from "./catch-up.js";
import { Consumer } from "./consumer.js";
import { type DeliveryEvents, deliveryEvents } from "./delivery-events.js";
import { DELIVERY_DEFAULTS, type DeliveryPolicy } from "./delivery-policy.js";
import { disableTarget } from "./disable-target.js";
import { judgeHealth, type LastTried, lastTriedBefore } from "./health.js";
import { routingOf } from "./match.js";
import { type MessageLoader, messageLoader } from "./message-loader.js";
import { recallLines } from "./recall-lines.js";
import { type SharedReader, sharedReader } from "./shared-reader.js";
import { type TestSend, testSend } from "./test-send.js";

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

/** Delivers the log to every destination that there is, and follows their documents as they change. */
export async function startDelivery(deps: DeliveryDeps): Promise<DeliveryRuntime> {
  const { store, catalog, clock, logger, metrics, live } = deps;
  const policy = { ...DELIVERY_DEFAULTS, ...deps.policy };
  const stage: Stage = {
    store,
    catalog,
    clock,
    policy,
    events: deliveryEvents(logger, metrics, live),
    reader: sharedReader(store.log),
    loader: messageLoader(store.log, clock),
    sources: new Map(),
    suppressions: deps.suppressions,
  };
  const deliveries = new Map<string, DestinationDelivery>();
  let closing = false;

  const loadSources = async (): Promise<void> => {
    stage.sources = new Map(
      (await store.config.list<SourceDocument>(DOCUMENT_KINDS.source)).map(({ id, value }) => [id, value]),
    );
  };
  const follow = async (id: string, document: Versioned<DestinationDocument> | undefined): Promise<void> => {
    let delivery = deliveries.get(id);
    if (document === undefined) {
      deliveries.delete(id);
      await delivery?.remove();
      return;
    }
    if (delivery === undefined) {
      if (closing) return;
      delivery = new DestinationDelivery(id, stage);
      deliveries.set(id, delivery);
    }
    await delivery.follow(document);
  };

  // Changes are followed one after the other, in the order in which they are told.
  let following: Promise<void> = Promise.resolve();
  const enqueue = (step: () => Promise<void>): void => {
    following = following.then(step).catch((error: unknown) => {
      logger.error("a change of configuration could not be followed", { error });
    });
  };
  const stopWatching = store.config.watch(({ kind, id }) => {
    if (kind === DOCUMENT_KINDS.destination) {
      enqueue(async () => follow(id, await store.config.get<DestinationDocument>(kind, id)));
    }
    if (kind === DOCUMENT_KINDS.source) {
      enqueue(async () => {
        await loadSources();
        for (const delivery of deliveries.values()) delivery.reroute();
      });
    }
  });
  const stopListening = store.log.onAppend(() => {
    for (const delivery of deliveries.values()) delivery.notify();
  });

  await store.consumers.resumeRetries(clock.monotonic());
  await loadSources();
  const documents = await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination);
  await Promise.all(documents.map((document) => follow(document.id, document)));
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
      closing = true;
      stopWatching();
      stopListening();
      await following;
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
  sources: ReadonlyMap<string, SourceDocument>;
}

/** One destination's consumer, kept in step with its document. */
class DestinationDelivery {
  readonly #id: string;
  readonly #stage: Stage;
  #document: DestinationDocument | undefined;
  #consumer: Consumer | undefined;
  #cancelReopen: (() => void) | undefined;
  /** Why it cannot be opened with its settings as they are. */
  #cannotOpen: { readonly sinceMs: number; readonly error: string } | undefined;
  /** The order for which it is known who waits in the retry queue. */
  #recalledFor: Flow["order"] | undefined;
  readonly #openedAtMs: number;
  #triedBefore: Promise<LastTried> | undefined;

  constructor(id: string, stage: Stage) {
    this.#id = id;
    this.#stage = stage;
    this.#openedAtMs = stage.clock.now();
  }

  async follow({ value: document }: Versioned<DestinationDocument>): Promise<void> {
    const before = this.#document;
    this.#document = document;
    const routing = this.#routing();
    if (routing === undefined) {
      this.#stage.events.cannotOpen(this.#id, new Error(`There is no destination type ${document.type}`));
      return;
    }
    if (this.#consumer === undefined) {
      this.#consumer = await this.#openConsumer(document, routing);
    } else this.#consumer.route(routing);
    const isSame =
      before?.enabled === document.enabled &&
      JSON.stringify(before.settings) === JSON.stringify(document.settings);
    if (!isSame) await this.#reopen();
  }

  reroute(): void {
    const routing = this.#routing();
    if (routing !== undefined) this.#consumer?.route(routing);
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
    const { store } = this.#stage;
    this.#triedBefore ??= lastTriedBefore(store, this.#id, this.#openedAtMs).catch((error: unknown) => {
      this.#triedBefore = undefined;
      throw error;
    });
    const before = await this.#triedBefore;
    if (lastTried.kind === "nothing") return before;
    return before.kind === "failed" ? { ...lastTried, sinceMs: before.sinceMs } : lastTried;
  }

  #targets(): Targets {
    const document = this.#document;
    const type = document && this.#stage.catalog.get(document.type);
    return (document && type?.targets?.(document.settings)) ?? { called: [], disabled: [] };
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
    this.#cancelReopen?.();
    await this.#consumer?.close(graceMs);
  }

  /** The destination was deleted: what it has under way is cut off. */
  async remove(): Promise<void> {
    await this.close(0);
    await this.#stage.store.consumers.remove(this.#id);
  }

  #routing(): ReturnType<typeof routingOf> | undefined {
    const document = this.#document;
    const type = document && this.#stage.catalog.get(document.type);
    const { sources, suppressions } = this.#stage;
    return document && type && routingOf(this.#id, document, type, sources, suppressions?.covers);
  }

  async #openConsumer(
    document: DestinationDocument,
    routing: ReturnType<typeof routingOf>,
  ): Promise<Consumer> {
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

  /** Nothing is begun until it is known which messages wait whose users' order counts from now on. */
  async #keepOrder(consumer: Consumer, order: Flow["order"]): Promise<void> {
    const isKnown = this.#recalledFor === order || (this.#recalledFor !== undefined && order === "none");
    this.#recalledFor = order;
    if (isKnown) {
      consumer.keepOrder(order);
      return;
    }
    consumer.use(undefined);
    consumer.keepOrder(order);
    await recallLines(this.#stage.store, this.#id, consumer, order);
  }

  /** Opens the destination with its settings as they are now, or none while it is disabled. */
  async #reopen(): Promise<void> {
    const { catalog, clock, policy, events } = this.#stage;
    const document = this.#document;
    const consumer = this.#consumer;
    this.#cancelReopen?.();
    if (document === undefined || consumer === undefined) return;
    if (!document.enabled) {
      this.#cannotOpen = undefined;
      consumer.use(undefined);
      return;
    }
    try {
      const destination = await catalog.get(document.type)?.open(document.settings);
      this.#cannotOpen = undefined;
      if (destination !== undefined) await this.#keepOrder(consumer, destination.flow.order);
      consumer.use(destination);
    } catch (error) {
      consumer.use(undefined);
      events.cannotOpen(this.#id, error);
      this.#cannotOpen = {
        sinceMs: this.#cannotOpen?.sinceMs ?? clock.now(),
        error: error instanceof Error ? error.message : String(error),
      };
      this.#cancelReopen = clock.after(policy.reopenAfterMs, () => void this.#reopen());
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
