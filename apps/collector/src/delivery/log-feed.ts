import type { FinalState, Offset, StoredMessage } from "@sluice/event-log";
import { identityOf } from "@sluice/event-log";
import type { PerUserQueue } from "./ordering/per-user-queue.js";
import type { CursorTracker } from "./reading/cursor-tracker.js";
import type { LogWindow } from "./reading/log-window.js";
import type { Deliverable, Work } from "./reading/work.js";
import { heldBytes } from "./reading/work.js";
import { match, type Routing } from "./routing/match.js";
import type { Ledger } from "./settling/ledger.js";

export interface LogFeedOptions {
  readonly window: LogWindow;
  readonly cursor: CursorTracker;
  readonly users: PerUserQueue;
  readonly ledger: Ledger;
  /** Messages after the cursor that were settled before the last restart. */
  readonly settledAhead: readonly Offset[];
  /** The current routing. */
  readonly routing: () => Routing;
  /** Whether so much waits to be stored that no further message should be taken. */
  readonly isFull: () => boolean;
}

/**
 * So many messages may be read beyond the first that is not done, each of which takes 50 bytes. Beyond, messages that wait for an earlier
 * one of their user are stored: behind slow answers, some may wait for hours while the others pass. Those in flight end soon.
 */
const MOST_BEYOND_CURSOR = 10_000;

/** Turns messages of the log into work, one after another. Messages that are not to be delivered are finished on the way. */
export class LogFeed {
  readonly #options: LogFeedOptions;
  readonly #settledAhead: Set<Offset>;

  constructor(options: LogFeedOptions) {
    this.#options = options;
    this.#settledAhead = new Set(options.settledAhead);
  }

  /** Messages that were settled in another way: they are not taken from the log. */
  settled(offsets: readonly Offset[]): void {
    for (const offset of offsets) if (offset > this.#options.window.passed) this.#settledAhead.add(offset);
  }

  /** The next message that may start. Undefined if there is none now. */
  take(): Work | undefined {
    const next = this.#takeWaiting() ?? this.#takeFromLog();
    // Read ahead while this one is in flight.
    this.#options.window.fill();
    if (next === undefined) this.#options.cursor.passed(this.#options.window.passed);
    return next;
  }

  #takeWaiting(): Work | undefined {
    const { users, ledger, cursor } = this.#options;
    for (let next = users.shift(); next !== undefined; next = users.shift()) {
      // Its user may have been deleted while it waited for an earlier message.
      if (!this.#isSuppressed(next.stored)) return next;
      ledger.finish(next.stored, "suppressed", "the user was deleted");
      users.done(next.stored);
      if (next.place !== undefined) cursor.done(next.place);
    }
    return undefined;
  }

  #takeFromLog(): Work | undefined {
    const { window, cursor, users, isFull } = this.#options;
    while (!users.full && !isFull()) {
      const stored = window.take();
      if (stored === undefined) return undefined;
      const mayWait = cursor.span < MOST_BEYOND_CURSOR;
      if (!mayWait) users.storeWaiting();
      const place = cursor.add(stored.offset);
      const isSettled = this.#settledAhead.size > 0 && this.#settledAhead.delete(stored.offset);
      const matched = isSettled ? undefined : this.match(stored, false);
      if (matched === undefined) {
        cursor.done(place);
        continue;
      }
      const { message } = stored;
      const work: Work = { stored, matched, place, heldBytes: heldBytes(message) };
      if (users.join(work, mayWait, (offset) => this.covers({ message, offset }))) return work;
    }
    return undefined;
  }

  /** The message as it is to be delivered. Any other outcome is recorded, and undefined returned. */
  match(stored: StoredMessage, replay: boolean): Deliverable | undefined {
    const { ledger, routing } = this.#options;
    const matched = match(stored, routing(), replay);
    const finish = (state: FinalState, reason: string): undefined =>
      ledger.finish(stored, state, reason) as undefined;
    switch (matched.kind) {
      case "deliver":
        return matched;
      case "unconnected":
        return replay ? finish("failed", "the source is not connected to this destination") : undefined;
      case "filtered":
      case "skipped":
      case "suppressed":
        return finish(matched.kind, matched.reason);
      default:
        return matched satisfies never;
    }
  }

  /** Whether the message came before its user was deleted, or while the user was suppressed. */
  #isSuppressed(stored: Pick<StoredMessage, "message" | "offset">): boolean {
    return stored.message.type !== "delete" && this.covers(stored);
  }

  /** The same for a delete message: what its user sent before is gone, so it waits for none of that. */
  covers({ message, offset }: Pick<StoredMessage, "message" | "offset">): boolean {
    return this.#options.routing().isSuppressed?.(identityOf(message), offset) ?? false;
  }
}
