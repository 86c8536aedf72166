import type { FinalState, Offset, StoredMessage } from "@sluice/event-log";
import { identityOf } from "@sluice/event-log";
import type { UserLines } from "../ordering/user-lines.js";
import { match, type Routing } from "../routing/match.js";
import type { Ledger } from "../settling/ledger.js";
import type { Deliverable, Work } from "../work.js";
import type { CursorTracker } from "./cursor-tracker.js";
import { heldBytes } from "./held-bytes.js";
import type { LogWindow } from "./log-window.js";

export interface LogFeedOptions {
  readonly window: LogWindow;
  readonly cursor: CursorTracker;
  readonly lines: UserLines;
  readonly ledger: Ledger;
  /** Messages beyond the cursor that were settled before the last restart. */
  readonly settledAhead: readonly Offset[];
  /** As it is when asked. */
  readonly routing: () => Routing;
  /** So much waits to be stored that no further message should be taken. */
  readonly isFull: () => boolean;
}

/** What of the log is to be delivered, one message after the other; what is not is settled on the way. */
export class LogFeed {
  readonly #options: LogFeedOptions;
  readonly #settledAhead: Set<Offset>;

  constructor(options: LogFeedOptions) {
    this.#options = options;
    this.#settledAhead = new Set(options.settledAhead);
  }

  /** The next message that may begin; undefined where there is none now. */
  take(): Work | undefined {
    const next = this.#takeInLine() ?? this.#takeOfLog();
    // While this one is under way the next are read.
    this.#options.window.fill();
    if (next === undefined) this.#options.cursor.passed(this.#options.window.passed);
    return next;
  }

  #takeInLine(): Work | undefined {
    const { lines, ledger, cursor } = this.#options;
    for (let next = lines.shift(); next !== undefined; next = lines.shift()) {
      // Its user may have been deleted while it waited behind an earlier message.
      if (!this.#isGone(next.stored)) return next;
      ledger.settle(next.stored, "suppressed", "the user was deleted");
      lines.done(next.stored);
      if (next.place !== undefined) cursor.done(next.place);
    }
    return undefined;
  }

  #takeOfLog(): Work | undefined {
    const { window, cursor, lines, isFull } = this.#options;
    while (!lines.full && !isFull()) {
      const stored = window.take();
      if (stored === undefined) return undefined;
      const place = cursor.add(stored.offset);
      const isSettled = this.#settledAhead.size > 0 && this.#settledAhead.delete(stored.offset);
      const matched = isSettled ? undefined : this.match(stored, false);
      if (matched === undefined) {
        cursor.done(place);
        continue;
      }
      const { message } = stored;
      const work: Work = { stored, matched, place, heldBytes: heldBytes(message) };
      if (lines.join(work, (offset) => this.#isGone({ message, offset }))) return work;
    }
    return undefined;
  }

  /** What is to be delivered; anything else is settled, where there is something to say about it. */
  match(stored: StoredMessage, replay: boolean): Deliverable | undefined {
    const { ledger, routing } = this.#options;
    const matched = match(stored, routing(), replay);
    const settle = (state: FinalState, reason: string): undefined =>
      ledger.settle(stored, state, reason) as undefined;
    switch (matched.kind) {
      case "deliver":
        return matched;
      case "unconnected":
        return replay ? settle("failed", "the source is not connected to this destination") : undefined;
      case "filtered":
      case "skipped":
      case "suppressed":
        return settle(matched.kind, matched.reason);
      default:
        return matched satisfies never;
    }
  }

  /** Whether the message came before its user was deleted, or while suppressed. */
  #isGone({ message, offset }: Pick<StoredMessage, "message" | "offset">): boolean {
    const { isSuppressed } = this.#options.routing();
    return message.type !== "delete" && (isSuppressed?.(identityOf(message), offset) ?? false);
  }
}
