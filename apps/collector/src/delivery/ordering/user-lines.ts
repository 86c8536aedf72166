import type { Offset, Retry, StoredMessage } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { CursorTracker } from "../reading/cursor-tracker.js";
import type { Ledger } from "../settling/ledger.js";
import type { Work } from "../work.js";
import { UserOrder, userOf } from "./user-order.js";

export interface UserLinesOptions {
  readonly ledger: Ledger;
  readonly cursor: CursorTracker;
  readonly clock: Clock;
  /** When a message that waits for another in the retry queue is looked at although nobody called it up, in milliseconds. */
  readonly lookAgainMs: number;
}

/** Messages that wait in memory for an earlier one of their user, at most. */
const MOST_IN_LINE = 1_000;
/** What they take at most, the last one left out. */
const MOST_BYTES_IN_LINE = 2 * 1_024 * 1_024;

/**
 * Brings messages whose order counts into it: a user's next begins when the one before it is done, from memory while that
 * one is under way, through the retry queue when it failed.
 */
export class UserLines {
  readonly #options: UserLinesOptions;
  readonly #order = new UserOrder<Work>((work) => work.heldBytes);
  /** Messages whose earlier ones of the same user are done. */
  #next: Work[] = [];
  #keepsAll = false;

  constructor(options: UserLinesOptions) {
    this.#options = options;
  }

  /** Whether every user's messages are kept in order, or only those that the collector made. */
  keep(order: "none" | "user"): void {
    this.#keepsAll = order === "user";
  }

  /** So much waits in memory that no more should be read. */
  get full(): boolean {
    return this.#order.waiting >= MOST_IN_LINE || this.#order.waitingBytes >= MOST_BYTES_IN_LINE;
  }

  /** A message whose turn has come. */
  shift(): Work | undefined {
    return this.#next.length === 0 ? undefined : this.#next.shift();
  }

  /** Whether a message of the log may begin; where not, it is begun when its turn comes. */
  join(work: Work, isGone: (offset: Offset) => boolean): boolean {
    const { stored } = work;
    if (this.#order.isEmpty && !this.#isKept(stored)) return true;
    const user = userOf(stored.message);
    this.#order.dropParked(user, isGone);
    if (!this.#isKept(stored)) return true;
    const turn = this.#order.join(user, stored.offset, work);
    if (turn === "park") this.#park(work);
    return turn === "begin";
  }

  /** Takes in a message that failed before it was known that its user's order counts. */
  recall(stored: StoredMessage, retry: Retry): void {
    this.#order.park(userOf(stored.message), retry);
  }

  /** Whether a retry that is due is the first of its user; where not, it goes back to wait for its turn. */
  resume(stored: StoredMessage, retry: Retry): boolean {
    if (!this.#isKept(stored) || retry.replay) return true;
    const user = userOf(stored.message);
    if (this.#order.resume(user, retry.offset)) return true;
    const { ledger, clock, lookAgainMs } = this.#options;
    // Called up as soon as the one before it is done; the due time is only for the case that nobody does.
    const later = { ...retry, dueAtMs: clock.monotonic() + lookAgainMs };
    this.#order.park(user, later);
    ledger.putBack(later);
    return false;
  }

  /** The message failed and waits in the retry queue: those behind it go there too. */
  failed(stored: StoredMessage, retry: Retry): void {
    if (!this.#isKept(stored) || retry.replay) return;
    const user = userOf(stored.message);
    const behind = this.#order.waitingOf(user);
    this.#order.park(user, retry);
    for (const work of behind) this.#park(work);
  }

  /** The message is done: its user's next may go. */
  done({ message, offset }: StoredMessage): void {
    if (!this.#order.isEmpty) this.#leave(userOf(message), offset);
  }

  /** As `done`, for a message that is in the log no more. */
  lost(offset: Offset): void {
    const user = this.#order.firstAt(offset);
    if (user !== undefined) this.#leave(user, offset);
  }

  #isKept({ onlyDestinations }: StoredMessage): boolean {
    // Messages that the collector makes say how something is now: the latest must arrive last.
    return this.#keepsAll || onlyDestinations !== undefined;
  }

  #leave(user: string, offset: Offset): void {
    const next = this.#order.leave(user, offset);
    if (next?.kind === "waiting") this.#next.push(next.work);
    if (next?.kind === "parked") {
      this.#options.ledger.putBack({ ...next.retry, dueAtMs: this.#options.clock.monotonic() });
    }
  }

  /** Puts a message that was not begun into the retry queue, behind an earlier one of its user. */
  #park({ stored, place }: Work): void {
    const { ledger, cursor, clock, lookAgainMs } = this.#options;
    const nowMs = clock.monotonic();
    const retry: Retry = {
      offset: stored.offset,
      rounds: 0,
      firstAttemptAtMs: nowMs,
      dueAtMs: nowMs + lookAgainMs,
      reason: "waits for an earlier message of this user",
      doneUrls: [],
      replay: false,
    };
    this.#order.park(userOf(stored.message), retry);
    ledger.retry(stored, retry);
    if (place !== undefined) cursor.done(place);
  }
}
