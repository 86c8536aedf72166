import type { EventLog, Offset } from "@sluice/event-log";
import { type CancelTimer, type SerialQueue, serialQueue, wallTimeAt } from "@sluice/resilience";
import type { Destination, Targets } from "../destinations/destination.js";
import type { DestinationDocument } from "../documents/documents.js";
import { chainOf } from "../transformations/transformations.js";
import { Consumer, type ConsumerStatus } from "./consumer.js";
import type { DeliveryStage, DestinationStatus } from "./delivery-stage.js";
import { judgeHealth, judgeUrl, type UrlFacts } from "./health/judge-health.js";
import type { TriedFacts } from "./health/last-tried.js";
import { type LastTried, lastTriedBefore } from "./health/last-tried.js";
import { type Order, restoreOrder } from "./ordering/restore-order.js";
import { pendingCatchUps } from "./reading/catch-up.js";
import { UnreadMessages } from "./reading/unread-messages.js";
import { type Routing, routingOf } from "./routing/match.js";
import { transforming } from "./sending/transforming.js";
import { isSame } from "./wire-consumer.js";

/** A delivery to discard. */
export interface Discarding {
  readonly offset: Offset;
  readonly isPending: boolean;
}

/** Why a destination cannot be opened with its current settings, and since when. */
interface OpenFailure {
  readonly sinceMs: number;
  readonly error: string;
}

/**
 * - `starting`: its consumer is being opened, or waits for another try because the store failed. The first state.
 * - `unknown_type`: this collector has no such destination type, so its messages wait. Only `close` leaves it.
 * - `disabled`: the document says so. Messages that come are skipped.
 * - `opening`: the destination opens with the settings of the document. Nothing is sent. `failure` is that of the try before.
 *   A newer `opening` replaces it when the document changes meanwhile: the destination of the older one is closed unused.
 * - `open`: the consumer delivers.
 * - `unopenable`: opening failed. A timer leads back to `opening`.
 * - `closed`: the end. `consumer` is absent if it was never opened.
 */
type State =
  | { readonly kind: "starting"; readonly cancelRetry?: CancelTimer }
  | { readonly kind: "unknown_type" }
  | { readonly kind: "disabled"; readonly consumer: Consumer }
  | { readonly kind: "opening"; readonly consumer: Consumer; readonly failure: OpenFailure | undefined }
  | { readonly kind: "open"; readonly consumer: Consumer }
  | {
      readonly kind: "unopenable";
      readonly consumer: Consumer;
      readonly failure: OpenFailure;
      readonly cancelRetry: CancelTimer;
    }
  | { readonly kind: "closed"; readonly consumer: Consumer | undefined };

const STORE_RETRY_MS = 1_000;

/** One destination's consumer, kept in step with the destination's document. */
export class DestinationDelivery {
  readonly #id: string;
  readonly #stage: DeliveryStage;
  /** When this was created: wall time, and as a monotonic reading. */
  readonly #created: { readonly atMs: number; readonly monotonicMs: number };
  readonly #inOrder: SerialQueue = serialQueue();
  #document: DestinationDocument;
  /** The settings that the destination was opened with last. */
  #openedWith: unknown;
  #state: State = { kind: "starting" };
  #opening: Promise<void> = Promise.resolve();
  /** Before, nothing may be sent, so the destination is not opened. */
  #hasBegun = false;
  #consumerOpened: Promise<void> = Promise.resolve();
  /** The order for which the waiting retries were restored. */
  #restoredOrder: Order | undefined;
  #triedBefore: Promise<LastTried> | undefined;
  readonly #unread: UnreadMessages;

  constructor(id: string, document: DestinationDocument, stage: DeliveryStage) {
    this.#id = id;
    this.#document = document;
    this.#stage = stage;
    this.#unread = new UnreadMessages(id, stage.store.log);
    this.#created = { atMs: stage.clock.now(), monotonicMs: stage.clock.monotonic() };
  }

  /** Opens its consumer, then the destination itself. Tries again while the store fails. */
  open(): Promise<void> {
    this.#consumerOpened = this.#start();
    const { mayBegin } = this.#stage;
    const ready = mayBegin === undefined ? this.#consumerOpened : this.#consumerOpened.then(() => mayBegin);
    this.#opening = ready.then(() => {
      this.#hasBegun = true;
      const consumer = this.#consumer;
      return consumer === undefined || this.#state.kind === "closed" ? undefined : this.#reopen(consumer);
    });
    return this.#opening;
  }

  /** Resolves when its consumer is open, or cannot be opened now. Does not wait for the destination itself. */
  get consumerOpened(): Promise<void> {
    return this.#consumerOpened;
  }

  /** After this returns, nothing starts with the old document. Resolves when the destination is open again. */
  async follow(document: DestinationDocument): Promise<void> {
    const before = this.#document;
    this.#document = document;
    const consumer = this.#consumer;
    const routing = this.#routing();
    if (consumer !== undefined && routing !== undefined) consumer.route(routing);
    if (consumer === undefined || routing === undefined || !this.#hasBegun) {
      await this.#opening;
      return;
    }
    const isAsBefore = before.enabled === document.enabled && isSame(before.settings, document.settings);
    if (!isAsBefore) await this.#reopen(consumer);
    else if (before.transformationId !== document.transformationId) consumer.wake();
  }

  /** A transformation has changed: what it made fail may be mended. */
  transformationChanged(id: string): void {
    const { connections } = this.#document;
    if (connections.some(({ sourceId }) => this.#chain(sourceId).includes(id))) this.wake();
  }

  /** A source has another transformation, or none any more: what the one before made fail may pass. */
  sourceTransformedAnew(id: string): void {
    if (this.#document.connections.some(({ sourceId }) => sourceId === id)) this.wake();
  }

  #chain(sourceId: string): readonly string[] {
    return chainOf(this.#stage.sources.get(sourceId), this.#document);
  }

  notify(): void {
    this.#consumer?.notify();
  }

  wake(): void {
    this.#consumer?.wake();
  }

  requeued(): void {
    this.#consumer?.requeued();
  }

  /** See `Consumer.discard`. Leaves out messages that do not exist any more. */
  async discard(deliveries: readonly Discarding[], reason: string): Promise<readonly Offset[]> {
    const { loader } = this.#stage;
    // Asked together, so that the store answers them in one go.
    const found = await Promise.all(
      deliveries.map(async ({ offset, isPending }) => ({ stored: await loader.load(offset), isPending })),
    );
    const known = found.flatMap(({ stored, isPending }) =>
      stored === undefined ? [] : [{ stored, isPending }],
    );
    return this.#consumer?.discard(known, reason) ?? [];
  }

  async status(): Promise<DestinationStatus | undefined> {
    const consumer = this.#consumer;
    if (consumer === undefined) return undefined;
    const { store, clock, policy } = this.#stage;
    const { state: stateNow, passed, taken, retries, inFlight, breaker, tried } = consumer.status;
    // Nothing is sent while it is opened, which is not what "disabled" says.
    const state = this.#state.kind === "opening" && this.#document.enabled ? "delivering" : stateNow;
    const { unread, skipped } = await this.#unread.after(passed, this.#document);
    const oldestUnreadMs = unread === 0 ? undefined : await receiptAfter(store.log, passed);
    const last = await this.#lastTried(tried.last);
    const urls = this.#urls(consumer, { ...tried, last });
    return {
      state,
      ...judgeHealth({
        isEnabled: this.#document.enabled,
        cannotOpen: this.#failure !== undefined,
        isBackingOff: state === "backing_off",
        tried: { ...tried, last },
        urls,
        waiting: unread - skipped + taken + retries,
        oldestUnreadMs,
        nowMs: clock.now(),
      }),
      urls: urls.map((one) => ({ url: one.url, ...judgeUrl(one) })),
      ...(last.kind === "failed" ? { failingSinceMs: last.sinceMs, lastError: last.error } : {}),
      disabledTargets: this.#targets().disabled.map(({ url }) => url),
      behind: unread + taken,
      skipped,
      retryWindowMs: this.#document.retryForMs ?? policy.retry.windowMs,
      ...(oldestUnreadMs === undefined ? {} : { oldestUnreadMs }),
      retries,
      inFlight,
      // A probe that is due waits for a message, or for a URL that is called less often.
      ...(breaker.kind === "open" && breaker.probeAtMs > clock.monotonic()
        ? { nextProbeAtMs: wallTimeAt(breaker.probeAtMs, clock) }
        : {}),
    };
  }

  /** The consumer's numbers for metrics, which must not wait for the store. */
  get consumerStatus(): ConsumerStatus | undefined {
    return this.#consumer?.status;
  }

  async close(graceMs: number): Promise<void> {
    const consumer = this.#consumer;
    this.#setState({ kind: "closed", consumer });
    await consumer?.close(graceMs);
  }

  /** The destination was deleted: aborts its rounds in flight, and removes its consumer from the store. */
  async remove(): Promise<void> {
    await this.close(0);
    // Does not wait for a destination that hangs while it opens; it is closed once it has opened.
    await this.#consumerOpened;
    await this.#stage.store.consumers.remove(this.#id);
  }

  get #consumer(): Consumer | undefined {
    return "consumer" in this.#state ? this.#state.consumer : undefined;
  }

  get #failure(): OpenFailure | undefined {
    return "failure" in this.#state ? this.#state.failure : undefined;
  }

  #setState(state: State): void {
    if ("cancelRetry" in this.#state) this.#state.cancelRetry?.();
    this.#state = state;
  }

  /** Opens the consumer. */
  async #start(): Promise<void> {
    const { events, clock } = this.#stage;
    const routing = this.#routing();
    if (routing === undefined) {
      this.#setState({ kind: "unknown_type" });
      events.cannotOpen(this.#id, new Error(`There is no destination type ${this.#document.type}`));
      return;
    }
    try {
      const consumer = await this.#openConsumer(routing);
      if (this.#isClosed) {
        await consumer.close(0);
        return;
      }
      // The document may have changed meanwhile.
      consumer.route(this.#routing() ?? routing);
      this.#setState({ kind: "opening", consumer, failure: undefined });
    } catch (error) {
      if (this.#isClosed) return;
      events.storeFailed(this.#id, error);
      const cancelRetry = clock.after(STORE_RETRY_MS, () => void this.open());
      this.#setState({ kind: "starting", cancelRetry });
    }
  }

  get #isClosed(): boolean {
    return this.#state.kind === "closed";
  }

  /**
   * Opens the destination with its current settings, or none while it is disabled. Nothing starts with the old settings after the
   * call: a type that takes long to open delays its own messages, and sends none to where they should no longer go.
   */
  async #reopen(consumer: Consumer): Promise<void> {
    const { clock, policy, events } = this.#stage;
    if (this.#isClosed) return;
    consumer.use(undefined);
    if (!this.#document.enabled) {
      this.#setState({ kind: "disabled", consumer });
      return;
    }
    const opening: State = { kind: "opening", consumer, failure: this.#failure };
    this.#setState(opening);
    try {
      const destination = await this.#openDestination(consumer, opening);
      if (this.#state !== opening) {
        await destination?.close();
        return;
      }
      this.#setState({ kind: "open", consumer });
      consumer.use(destination);
      if (consumer.settingsLeft === undefined) this.#usePresent(consumer);
    } catch (error) {
      if (this.#state !== opening) return;
      const isGivenUp = await this.#givesUpSettings(consumer);
      // Meanwhile it was closed, or has other settings.
      if (this.#state !== opening) return;
      if (isGivenUp) return this.#reopen(consumer);
      events.cannotOpen(this.#id, error);
      const failure = {
        sinceMs: opening.failure?.sinceMs ?? clock.now(),
        error: error instanceof Error ? error.message : String(error),
      };
      const cancelRetry = clock.after(policy.reopenAfterMs, () => void this.#reopen(consumer));
      this.#setState({ kind: "unopenable", consumer, failure, cancelRetry });
    }
  }

  /** What an earlier process was sending has ended: opens the destination with its own settings, if it has others now. */
  #usePresent(consumer: Consumer): void {
    if (this.#state.kind === "open" && !isSame(this.#openedWith, this.#document.settings))
      void this.#reopen(consumer);
  }

  /** It cannot be opened with settings that are no longer in force. Nobody could mend them. */
  async #givesUpSettings(consumer: Consumer): Promise<boolean> {
    const left = consumer.settingsLeft;
    if (left === undefined || isSame(left.settings, this.#document.settings)) return false;
    return consumer.giveUpSettings().catch(() => false);
  }

  async #openDestination(consumer: Consumer, opening: State): Promise<Destination | undefined> {
    const { type } = this.#document;
    // Who changes the settings of a destination that fails may have mended it.
    if (consumer.settingsLeft?.haveFailed === true) await this.#givesUpSettings(consumer);
    const { settings } = consumer.settingsLeft ?? this.#document;
    const opened = await this.#stage.catalog.get(type)?.open(settings);
    if (opened === undefined) return undefined;
    if (this.#state === opening) this.#openedWith = settings;
    const { transformations, clock } = this.#stage;
    const chain = (sourceId: string): readonly string[] => this.#chain(sourceId);
    const destination = transforming(opened, { transformations, chain, clock });
    try {
      await this.#setOrder(consumer, destination.flow.order, opening);
      return destination;
    } catch (error) {
      await destination.close();
      throw error;
    }
  }

  /**
   * Resolves when the waiting retries whose users' order counts from now on are known. Nothing may start before. An opening that a newer
   * one replaced changes nothing.
   */
  #setOrder(consumer: Consumer, order: Order, opening: State): Promise<void> {
    return this.#inOrder(async () => {
      if (this.#state !== opening) return;
      const isKnown =
        this.#restoredOrder === order || (this.#restoredOrder !== undefined && order === "none");
      consumer.setOrder(order);
      if (!isKnown) await restoreOrder(this.#stage, this.#id, consumer);
      this.#restoredOrder = order;
    });
  }

  async #openConsumer(routing: Routing): Promise<Consumer> {
    const { document } = routing;
    const { store, reader, loader, clock, policy, events, tracing, transformations, disableTarget } =
      this.#stage;
    const head = store.log.head();
    const startAfter = Math.min(head, ...document.connections.map(({ since }) => since)) as Offset;
    const state = await store.consumers.open(this.#id, startAfter);
    const onGone = (url: string): void => {
      disableTarget(this.#id, url).then(
        (isChanged) => isChanged && events.gone(this.#id, url),
        (error) => events.storeFailed(this.#id, error),
      );
    };
    const consumer: Consumer = new Consumer(
      {
        ...{ destinationId: this.#id, store, reader, loader, clock, policy, events, tracing },
        ...{ transformations, onGone, onRangeEnded: () => this.#usePresent(consumer) },
      },
      state,
      routing,
    );
    const pending = await pendingCatchUps(store, this.#id, () => this.#document.connections);
    for (const { sourceId, since } of pending) consumer.catchUp(sourceId, since);
    return consumer;
  }

  #routing(): Routing | undefined {
    const document = this.#document;
    const type = this.#stage.catalog.get(document.type);
    const { sources, suppressions } = this.#stage;
    const isSuppressed: Routing["isSuppressed"] =
      suppressions && ((identity, offset) => suppressions.covers(identity, offset));
    return type && routingOf(this.#id, document, type, sources, isSuppressed);
  }

  #targets(): Targets {
    const { type, settings } = this.#document;
    return this.#stage.catalog.get(type)?.targets?.(settings) ?? { called: [], disabled: [] };
  }

  #urls(consumer: Consumer, whole: TriedFacts): UrlFacts[] {
    const { called, disabled } = this.#targets();
    return [
      // What is known of the only URL is known of the destination, also from before this process.
      ...called.map((url): UrlFacts => {
        const tried = called.length === 1 && disabled.length === 0 ? whole : consumer.triedAt(url);
        return { url, state: { kind: "called", tried } };
      }),
      ...disabled.map(({ url, atMs }): UrlFacts => ({ url, state: { kind: "disabled", sinceMs: atMs } })),
    ];
  }

  /** How the last round ended, including what is stored of the time before this process. */
  async #lastTried(sinceStart: LastTried): Promise<LastTried> {
    if (this.#failure !== undefined) return { kind: "failed", inARow: 1, ...this.#failure };
    if (sinceStart.kind === "delivered") return sinceStart;
    const { store, clock } = this.#stage;
    const createdAtMs = { ended: this.#created.atMs, pending: wallTimeAt(this.#created.monotonicMs, clock) };
    this.#triedBefore ??= lastTriedBefore(store, this.#id, createdAtMs).catch((error: unknown) => {
      this.#triedBefore = undefined;
      throw error;
    });
    const before = await this.#triedBefore;
    if (sinceStart.kind === "nothing") return before;
    return before.kind === "failed" ? { ...sinceStart, sinceMs: before.sinceMs } : sinceStart;
  }
}

/** When the first message after `offset` was received; undefined if there is none any more. */
async function receiptAfter(log: Pick<EventLog, "read">, offset: Offset): Promise<number | undefined> {
  const [batch] = await log.read(offset, { messages: 1, bytes: 1 });
  return batch?.receivedAtMs;
}
