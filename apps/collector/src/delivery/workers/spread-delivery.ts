import { DOCUMENT_KINDS, mirrorDocuments, type Store } from "@sluice/event-log";
import type { DestinationDocument } from "../../documents/documents.js";
import type { LiveEvents } from "../../process/telemetry/live-events.js";
import type { Logger } from "../../process/telemetry/logger.js";
import { disableTarget } from "../control/disable-target.js";
import type { DestinationReading } from "../readings.js";
import { type RunningDelivery, type RunParts, runDelivery, type WholeDelivery } from "../run-delivery.js";
import type { DeliveryTally } from "../settling/delivery-events.js";
import { type Load, nextMove, placeFor } from "./assign.js";
import { takeTally } from "./batched-tally.js";
import { DeliveryThread, type DeliveryWorker } from "./delivery-thread.js";
import type { Companion, DeliveryNotice } from "./thread-api.js";

export interface SpreadParts extends Omit<RunParts, "assigned"> {
  readonly store: Store;
  readonly logger: Logger;
  readonly live: LiveEvents;
  /** Counts what ended, in every thread. */
  readonly tally: DeliveryTally;
  /** How many threads deliver besides this one. */
  readonly count: number;
  readonly startThread: () => DeliveryWorker;
  readonly companion?: Companion | undefined;
}

/** How often destinations are weighed, in milliseconds. */
const BALANCE_EVERY_MS = 10_000;
/** In place of a thread's number: the destinations that only this thread can open. */
const HERE = -1;

/**
 * Delivers in several threads. Each destination has one worker at a time, which does everything for it; a destination that moves is closed
 * by the old worker before the new one opens it. This thread delivers to destinations of types that others cannot open.
 */
export async function spreadDelivery(parts: SpreadParts): Promise<WholeDelivery> {
  const spread = new Spread(parts);
  await spread.open();
  return spread;
}

class Spread implements WholeDelivery {
  readonly #parts: SpreadParts;
  /** The thread of each destination, from 0, or `HERE`. */
  readonly #placement = new Map<string, number>();
  /** The destination that its old thread is handing over. Nobody is given it before. */
  #moving: string | undefined;
  /** Messages that ended since the last weighing, by destination. */
  #ended = new Map<string, number>();
  /** What each destination took at the last weighing, in messages a second. */
  #perSecond: ReadonlyMap<string, number> = new Map();
  #here: RunningDelivery | undefined;
  #threads: readonly DeliveryThread[] = [];
  #hasBegun = false;
  #stop: (() => void)[] = [];
  #isClosed = false;

  constructor(parts: SpreadParts) {
    this.#parts = parts;
  }

  async open(): Promise<void> {
    const { store, clock, live, mayBegin, count } = this.#parts;
    // Followed before the workers follow them, so that a new destination has a worker.
    const documents = await mirrorDocuments<DestinationDocument>(
      store.config,
      DOCUMENT_KINDS.destination,
      (id, document) => this.#follow(id, document?.value),
    );
    this.#here = await runDelivery({ ...this.#parts, assigned: this.#assignedTo(HERE) });
    this.#threads = Array.from({ length: count }, (_, thread) => this.#startThread(thread));
    // What was added since.
    await this.#here.assign(this.#assignedTo(HERE));
    void (mayBegin ?? Promise.resolve()).then(() => {
      this.#hasBegun = true;
      for (const thread of this.#threads) thread.tell("begin");
    });
    const stopWatching = live.onWatched((isWatched) => {
      for (const thread of this.#threads) thread.tell("watch", isWatched);
    });
    let cancel = (): void => {};
    const balance = (): void => {
      if (!this.#isClosed)
        cancel = clock.after(BALANCE_EVERY_MS, () => void this.#balance().finally(balance));
    };
    balance();
    this.#stop = [() => documents.close(), stopWatching, () => cancel()];
  }

  #startThread(thread: number): DeliveryThread {
    const { clock, logger, store, startThread, companion, suppressions, live } = this.#parts;
    if (store.share === undefined) throw new Error("this store can be used in one thread only");
    return new DeliveryThread(
      {
        clock,
        logger,
        share: store.share,
        startThread,
        beginning: () => ({
          purges: suppressions?.purges ?? [],
          isWatched: live.watched,
          mayBegin: this.#hasBegun,
        }),
        connect: () => companion?.connect(thread) ?? {},
        onNotice: (notice) => this.#take(notice),
      },
      this.#assignedTo(thread),
    );
  }

  get #workers(): readonly RunningDelivery[] {
    return this.#here === undefined ? [] : [this.#here, ...this.#threads];
  }

  #workerOf(destinationId: string): RunningDelivery | undefined {
    return this.#workerAt(this.#placement.get(destinationId) ?? HERE);
  }

  #workerAt(place: number): RunningDelivery | undefined {
    return place === HERE ? this.#here : this.#threads[place];
  }

  /** Tells a worker what it delivers to from now on. */
  async #assign(place: number): Promise<void> {
    await this.#workerAt(place)?.assign(this.#assignedTo(place));
  }

  #assignedTo(place: number): readonly string[] {
    return [...this.#placement].filter(([id, at]) => at === place && id !== this.#moving).map(([id]) => id);
  }

  /** A destination was added or deleted. */
  async #follow(id: string, document: DestinationDocument | undefined): Promise<void> {
    const { catalog, count, store, tally } = this.#parts;
    const before = this.#placement.get(id);
    if (document !== undefined) {
      if (before !== undefined) return;
      const place = catalog.inThreads.has(document.type)
        ? placeFor(this.#loads(), this.#placement, count)
        : HERE;
      this.#placement.set(id, place);
      tally.added(id);
      await this.#assign(place);
    } else if (before !== undefined) {
      this.#placement.delete(id);
      await this.#assign(before);
      // Its worker may be gone.
      await store.consumers.remove(id);
    }
  }

  #loads(): readonly Load[] {
    return [...this.#placement.keys()].map((id) => ({ id, perSecond: this.#perSecond.get(id) ?? 0 }));
  }

  /** Moves at most one destination. */
  async #balance(): Promise<void> {
    const perSecond = (ended: number): number => (ended * 1_000) / BALANCE_EVERY_MS;
    this.#perSecond = new Map([...this.#ended].map(([id, ended]) => [id, perSecond(ended)]));
    this.#ended = new Map();
    const move = nextMove(this.#loads(), this.#placement, this.#parts.count);
    if (move === undefined || this.#isClosed) return;
    const from = this.#placement.get(move.id) ?? HERE;
    this.#placement.set(move.id, move.to);
    this.#moving = move.id;
    await this.#assign(from);
    this.#moving = undefined;
    await this.#assign(move.to);
  }

  #take(notice: DeliveryNotice): void {
    const { tally, live, logger, tracing, events } = this.#parts;
    switch (notice.kind) {
      case "tally":
        takeTally(tally, notice.tally);
        for (const [id, { states }] of notice.tally) {
          const count = [...states.values()].reduce((sum, ended) => sum + ended.length, 0);
          this.#ended.set(id, (this.#ended.get(id) ?? 0) + count);
        }
        return;
      case "live":
        live.publish(notice.event, notice.stored);
        return;
      case "log":
        logger[notice.level](notice.text, notice.fields);
        return;
      case "span":
        tracing?.record(notice.span);
        return;
      case "gone": {
        const { destinationId, url } = notice;
        disableTarget(this.#parts, destinationId, url).then(
          (isChanged) => isChanged && events.gone(destinationId, url),
          (error) => events.storeFailed(destinationId, error),
        );
        return;
      }
      default:
        notice satisfies never;
    }
  }

  wake(destinationId: string): void {
    this.#workerOf(destinationId)?.wake(destinationId);
  }

  requeued(destinationId?: string): void {
    if (destinationId !== undefined) this.#workerOf(destinationId)?.requeued(destinationId);
    else for (const worker of this.#workers) worker.requeued();
  }

  async takePurges(...[purges]: Parameters<RunningDelivery["takePurges"]>): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.takePurges(purges)));
  }

  discard: RunningDelivery["discard"] = async (destinationId, deliveries, reason) =>
    (await this.#workerOf(destinationId)?.discard(destinationId, deliveries, reason)) ?? [];

  status: RunningDelivery["status"] = async (destinationId) =>
    this.#workerOf(destinationId)?.status(destinationId);

  async readings(): Promise<ReadonlyMap<string, DestinationReading>> {
    const all = await Promise.all(this.#workers.map((worker) => worker.readings()));
    return new Map(all.flatMap((readings) => [...readings]));
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#stop) stop();
    await Promise.all(this.#workers.map((worker) => worker.close(graceMs)));
  }
}
