import type { Offset, Retry, StoredMessage } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { CursorTracker } from "../reading/cursor-tracker.js";
import type { Work } from "../reading/work.js";
import type { Ledger } from "../settling/ledger.js";
import type { Order } from "./restore-order.js";
import { UserOrder, userOf } from "./user-order.js";

export interface PerUserQueueOptions {
  readonly ledger: Ledger;
  readonly cursor: CursorTracker;
  readonly clock: Clock;
  /** How long a message waits in the retry queue for an earlier one before it is checked anyway, in milliseconds. */
  readonly recheckMs: number;
}

/** Messages that wait in memory for an earlier one of their user, at most. */
const MAX_WAITING = 1_000;
/** Memory for them, in bytes. The last message may exceed it. */
const MAX_WAITING_BYTES = 2 * 1_024 * 1_024;

/**
 * Delivers a user's messages in order where the order counts: the next one starts when the one before it is done. It waits in memory
 * while that one is in flight, and in the retry queue when that one failed.
 */
export class PerUserQueue {
  readonly #options: PerUserQueueOptions;
  readonly #order = new UserOrder<Work>((work) => work.heldBytes);
  /** Messages whose predecessors are done. */
  #next: Work[] = [];
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
    return this.#order.waiting >= MAX_WAITING || this.#order.waitingBytes >= MAX_WAITING_BYTES;
  }

  /** The next message whose turn has come. */
  shift(): Work | undefined {
    return this.#next.length === 0 ? undefined : this.#next.shift();
  }

  /** Whether a message of the log may start now. If not, `shift` returns it when its turn comes. */
  join(work: Work, isSuppressed: (offset: Offset) => boolean): boolean {
    const { stored } = work;
    if (this.#order.isEmpty && !this.#isOrdered(stored)) return true;
    const user = userOf(stored.message);
    this.#order.dropParked(user, isSuppressed);
    if (!this.#isOrdered(stored)) return true;
    const turn = this.#order.join(user, stored.offset, work);
    if (turn === "park") this.#park(work);
    return turn === "start";
  }

  /** Adds a message that failed before its user's order counted. */
  restore(stored: StoredMessage, retry: Retry): void {
    this.#order.park(userOf(stored.message), retry);
  }

  /** Whether a due retry is the first of its user. If not, it goes back to wait for its turn. */
  resume(stored: StoredMessage, retry: Retry): boolean {
    if (!this.#isOrdered(stored) || retry.replay) return true;
    const user = userOf(stored.message);
    if (this.#order.resume(user, retry.offset)) return true;
    const { ledger, clock, recheckMs } = this.#options;
    // It becomes due as soon as the one before it is done. This time is a fallback.
    const later = { ...retry, dueAtMs: clock.monotonic() + recheckMs };
    this.#order.park(user, later);
    ledger.putBack(later);
    return false;
  }

  /** The message failed and waits in the retry queue. The user's later messages follow it there. */
  failed(stored: StoredMessage, retry: Retry): void {
    if (!this.#isOrdered(stored) || retry.replay) return;
    const user = userOf(stored.message);
    const behind = this.#order.waitingOf(user);
    this.#order.park(user, retry);
    for (const work of behind) this.#park(work);
  }

  /** The message is done: its user's next one may start. */
  done({ message, offset }: StoredMessage): void {
    if (!this.#order.isEmpty) this.#leave(userOf(message), offset);
  }

  /** Like `done`, for a message that is no longer in the log. */
  lost(offset: Offset): void {
    const user = this.#order.firstAt(offset);
    if (user !== undefined) this.#leave(user, offset);
  }

  #isOrdered({ onlyDestinations }: StoredMessage): boolean {
    // Messages that the collector makes report a current state: the latest one must arrive last.
    return this.#ordersAll || onlyDestinations !== undefined;
  }

  #leave(user: string, offset: Offset): void {
    const next = this.#order.leave(user, offset);
    if (next?.kind === "waiting") this.#next.push(next.work);
    if (next?.kind === "parked") {
      this.#options.ledger.putBack({ ...next.retry, dueAtMs: this.#options.clock.monotonic() });
    }
  }

  /** Puts a message that has not started into the retry queue, behind an earlier one of its user. */
  #park({ stored, place }: Work): void {
    const { ledger, cursor, clock, recheckMs } = this.#options;
    const nowMs = clock.monotonic();
    const retry: Retry = {
      offset: stored.offset,
      rounds: 0,
      firstAttemptAtMs: nowMs,
      dueAtMs: nowMs + recheckMs,
      reason: "waits for an earlier message of this user",
      doneUrls: [],
      replay: false,
    };
    this.#order.park(userOf(stored.message), retry);
    ledger.retry(stored, retry);
    if (place !== undefined) cursor.done(place);
  }
}
