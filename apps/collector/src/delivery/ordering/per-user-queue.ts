import type { Consumers, Lane, Offset, Retry, Settlement, StoredMessage } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { CursorTracker } from "../reading/cursor-tracker.js";
import type { Work } from "../reading/work.js";
import type { Ledger } from "../settling/ledger.js";
import type { RetryQueue } from "../settling/retry-queue.js";
import type { RetryPolicy } from "../settling/retry-schedule.js";
import { laneOf } from "./lane-of.js";
import type { Order } from "./restore-order.js";
import { type Turn, UserOrder } from "./user-order.js";

export interface PerUserQueueOptions {
  readonly ledger: Ledger;
  readonly cursor: CursorTracker;
  readonly clock: Clock;
  readonly retries: Pick<RetryQueue, "isInHand" | "isOnItsWay" | "ready">;
  readonly consumerId: string;
  readonly consumers: Pick<Consumers, "inLane">;
  /** The store failed. `again` is to be called later. */
  readonly onFailure: (error: unknown, again: () => void) => void;
  /** The destination's current policy. */
  readonly policy: () => RetryPolicy;
}

/** Messages that wait in memory for an earlier one of their user, at most. */
const MAX_WAITING = 1_000;
/** Memory for them, in bytes. The last message may exceed it. */
const MAX_WAITING_BYTES = 2 * 1_024 * 1_024;
/** Users with an unfinished message, at most: one in flight, or one that failed. Each takes about 150 bytes. */
const MAX_USERS = 100_000;
/** Messages that are checked within the longest wait between two attempts. A long queue is checked more slowly. */
const RECHECKED_TOGETHER = 100;

/**
 * What a lane does when a result of a message is stored, with which everything before it is stored too:
 *
 * - `end`: asks the store for the next one. If the message is still taken for the first of its lane, it leaves.
 * - `retry`: asks the store for the first one, or starts `retry`.
 */
type Step =
  | { readonly after: "end"; readonly lane: number }
  | { readonly after: "retry"; readonly lane: number; readonly retry?: Retry };

/**
 * Delivers a user's messages in order where the order counts: the next one starts when the one before it is done. It waits in memory
 * while that one is in flight, and only in the store when that one failed.
 */
export class PerUserQueue {
  readonly #options: PerUserQueueOptions;
  readonly #order = new UserOrder<Work>(
    ({ stored }) => stored.offset,
    (work) => work.heldBytes,
  );
  /** Messages whose predecessors are done. */
  readonly #next: Work[] = [];
  /** Lanes that wait until a result of this message is stored. */
  readonly #untilStored = new Map<Offset, Step>();
  /** Messages that were handed over, and whose retries are not stored yet. */
  readonly #unstored = new Set<Offset>();
  #ordersAll = false;

  constructor(options: PerUserQueueOptions) {
    this.#options = options;
  }

  /** Whether every user's messages keep their order, or only those that the collector made. */
  setOrder(order: Order): void {
    this.#ordersAll = order === "user";
  }

  /** Enough waits in memory: nothing more should be read. */
  get full(): boolean {
    const { waiting, waitingBytes, users } = this.#order;
    return waiting >= MAX_WAITING || waitingBytes >= MAX_WAITING_BYTES || users >= MAX_USERS;
  }

  /** Messages in the retry queue that did not fail: they wait for an earlier one of their user. */
  get behind(): number {
    return this.#order.behind;
  }

  /** The next message whose turn has come. */
  shift(): Work | undefined {
    return this.#next.length === 0 ? undefined : this.#next.shift();
  }

  /** The lane of a message whose order counts. */
  laneOf(stored: StoredMessage): number | undefined {
    return this.#isOrdered(stored) ? laneOf(stored.message) : undefined;
  }

  /**
   * Whether a message of the log may start now. If not, `shift` returns it when its turn comes, or it comes back as a retry. `mayWait`:
   * whether it may hold the cursor back meanwhile.
   */
  join(work: Work, mayWait: boolean, isSuppressed: (offset: Offset) => boolean): boolean {
    const { stored } = work;
    if (this.#order.users === 0 && !this.#isOrdered(stored)) return true;
    const lane = laneOf(stored.message);
    const mustLook = this.#order.dropGone(lane, isSuppressed);
    if (!this.#isOrdered(stored)) {
      if (mustLook) this.#look(lane);
      return true;
    }
    const turn = this.#order.join(lane, work, mayWait);
    if (turn === "store") this.#store(lane, work);
    if (mustLook) this.#untilStored.set(stored.offset, { after: "retry", lane });
    return turn === "start";
  }

  /** Stores all messages that wait in memory, so that the cursor can pass them. */
  storeWaiting(): void {
    for (const [lane, works] of this.#order.takeWaiting()) for (const work of works) this.#store(lane, work);
  }

  /** Adds a lane of the store, whose messages failed before their users' order counted, or before a restart. */
  restore(lane: Lane): void {
    for (const work of this.#order.restore(lane)) this.#store(lane.lane, work);
    // It was never sent, so its turn had come when the process ended.
    if (lane.first.rounds === 0) this.#due(lane.first);
  }

  /** Whether a due retry is the first of its user. If not, it goes back to wait for its turn. */
  resume(stored: StoredMessage, retry: Retry, isSuppressed: (offset: Offset) => boolean): boolean {
    const lane = this.laneOf(stored);
    if (lane === undefined || retry.replay) return true;
    const { offset } = retry;
    const mustLook = this.#order.dropGone(lane, isSuppressed);
    if (this.#order.resume(lane, offset)) return true;
    // It starts when the one before it is done. This time is a fallback.
    const dueAtMs = this.#options.clock.monotonic() + this.#recheckMs();
    this.#order.putBack(lane, offset, retry.lane !== undefined);
    this.#options.ledger.putBack({ ...retry, lane, dueAtMs, notBeforeMs: dueAtMs });
    this.#unstored.add(offset);
    if (mustLook) this.#untilStored.set(offset, { after: "retry", lane });
    return false;
  }

  /** The message failed and waits in the retry queue. The user's later messages follow it there. */
  failed(stored: StoredMessage, retry: Retry): void {
    const lane = this.laneOf(stored);
    if (lane === undefined || retry.replay) return;
    for (const work of this.#order.failed(lane, retry.offset)) this.#store(lane, work);
  }

  /** The message is done: its user's next one may start. */
  done({ message, offset }: StoredMessage): void {
    if (this.#order.users > 0) this.#leave(laneOf(message), offset);
  }

  /** Like `done`, for a message that is no longer in the log. */
  lost({ offset, lane = this.#order.laneAt(offset) }: Retry): void {
    if (lane !== undefined) this.#leave(lane, offset);
  }

  /** A settlement is in the store. */
  stored({ outcomes, retries }: Settlement): void {
    for (const { offset } of retries) this.#unstored.delete(offset);
    if (this.#untilStored.size === 0) return;
    for (const { offset } of outcomes) this.#storedAt(offset, "end");
    for (const { offset } of retries) this.#storedAt(offset, "retry");
  }

  #isOrdered({ onlyDestinations }: StoredMessage): boolean {
    // Messages that the collector makes report a current state: the latest one must arrive last.
    return this.#ordersAll || onlyDestinations !== undefined;
  }

  #leave(lane: number, offset: Offset): void {
    const turn = this.#order.leave(lane, offset);
    // The message's own result was handed over just before, so it is stored with or after everything behind it.
    if (turn?.kind === "look") this.#untilStored.set(offset, { after: "end", lane });
    else this.#take(lane, turn);
  }

  #take(lane: number, turn: Exclude<Turn<Work>, { kind: "look" }> | undefined): void {
    if (turn?.kind === "start") this.#next.push(turn.work);
    if (turn?.kind !== "resume") return;
    const { notBeforeMs: _, ...retry } = turn.retry;
    const { retries, clock } = this.#options;
    const { offset } = retry;
    // One that is ready starts by itself. If it has just been ended, the lane goes on when that is stored.
    if (retries.isInHand(offset)) this.#untilStored.set(offset, { after: "end", lane });
    else if (retries.isOnItsWay(offset)) this.#untilStored.set(offset, { after: "retry", lane, retry });
    else retries.ready({ ...retry, dueAtMs: clock.monotonic() });
  }

  #storedAt(offset: Offset, result: Step["after"]): void {
    const step = this.#untilStored.get(offset);
    if (step?.after !== result) return;
    this.#untilStored.delete(offset);
    const { lane } = step;
    if (this.#order.isLooking(lane)) this.#look(lane);
    else if (!this.#order.isFirst(lane, offset)) return;
    else if (step.after === "end") this.#leave(lane, offset);
    else if (step.retry !== undefined) this.#take(lane, { kind: "resume", retry: step.retry });
  }

  #look(lane: number): void {
    const limit = this.#order.reserve();
    const { consumers, consumerId, onFailure } = this.#options;
    consumers.inLane(consumerId, lane, limit).then(
      (retries) => {
        const turn = this.#order.found(lane, retries, limit);
        if (turn?.kind === "look") this.#lookForLater(lane);
        else this.#take(lane, turn);
      },
      (error) => {
        this.#order.release(limit);
        onFailure(error, () => this.#look(lane));
      },
    );
  }

  /** The store held nothing of the lane when it was asked. What was handed over since may be stored by now. */
  #lookForLater(lane: number): void {
    const last = this.#order.lastOf(lane);
    if (last !== undefined && this.#unstored.has(last)) this.#untilStored.set(last, { after: "retry", lane });
    else this.#look(lane);
  }

  /** Makes a retry due in the store. */
  #due({ notBeforeMs: _, ...retry }: Retry): void {
    const { ledger, retries, clock } = this.#options;
    if (!retries.isInHand(retry.offset)) ledger.putBack({ ...retry, dueAtMs: clock.monotonic() });
  }

  /** How long a message waits in the retry queue for an earlier one before it is checked anyway. */
  #recheckMs(): number {
    const { windowMs, backoff } = this.#options.policy();
    const rounds = 1 + Math.floor(this.#order.behind / RECHECKED_TOGETHER);
    return Math.max(backoff.maxMs, Math.min(backoff.maxMs * rounds, windowMs));
  }

  /** Puts a message that has not started into the retry queue, behind an earlier one of its user. */
  #store(lane: number, { stored, place }: Work): void {
    const { ledger, cursor, clock } = this.#options;
    const nowMs = clock.monotonic();
    this.#order.stored(lane, stored.offset);
    this.#unstored.add(stored.offset);
    // Without `notBeforeMs`, because a message that was never sent is not released early.
    ledger.retry(stored, {
      offset: stored.offset,
      rounds: 0,
      firstAttemptAtMs: nowMs,
      dueAtMs: nowMs + this.#recheckMs(),
      reason: "waits for an earlier message of this user",
      doneUrls: [],
      replay: false,
      lane,
    });
    if (place !== undefined) cursor.done(place);
  }
}
