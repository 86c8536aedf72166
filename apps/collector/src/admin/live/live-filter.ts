import type { Offset, StoredMessage } from "@sluice/event-log";
import {
  asksOutcomes,
  compileFilter,
  type MessageFilter,
  messageTerms,
  outcomeTerms,
} from "@sluice/protocol";
import type { LiveEvent } from "../../process/telemetry/live-events.js";
import { rejectedSubject } from "./server-sent-event.js";

/** Messages for which the reader remembers whether they match, for the outcomes that follow them. */
const MAX_REMEMBERED = 5_000;

/** Whether a message matches, and whether it has been sent to the reader. */
export interface FilteredMessage {
  readonly matches: boolean;
  isSent: boolean;
}

type OutcomeKey = { readonly destinationId: string; readonly state: string };

/** One reader's filter over messages and their outcomes. */
export class LiveFilter {
  /** Everything matches. */
  readonly matchesAll: boolean;
  /** The filter has terms about outcomes, so a message is sent with its first matching outcome. */
  readonly needsOutcome: boolean;
  readonly #matchesRejected: ReturnType<typeof compileFilter>;
  readonly #matchesMessage: ReturnType<typeof compileFilter>;
  readonly #matchesOutcome: ReturnType<typeof compileFilter>;
  readonly #remembered = new Map<Offset, FilteredMessage>();

  constructor(filter: MessageFilter) {
    this.matchesAll = filter.terms.length === 0;
    this.needsOutcome = asksOutcomes(filter);
    this.#matchesRejected = compileFilter(filter);
    this.#matchesMessage = compileFilter(messageTerms(filter));
    this.#matchesOutcome = compileFilter(outcomeTerms(filter));
  }

  /** The result for a message; evaluated once as long as it is remembered. */
  message(stored: StoredMessage): FilteredMessage {
    const known = this.#remembered.get(stored.offset);
    if (known !== undefined) return known;
    const filtered = { matches: this.#matchesMessage(stored), isSent: false };
    this.#remembered.set(stored.offset, filtered);
    if (this.#remembered.size > MAX_REMEMBERED) {
      const oldest = this.#remembered.keys().next();
      if (!oldest.done) this.#remembered.delete(oldest.value);
    }
    return filtered;
  }

  /** The result for the message at `offset`; undefined if it is not remembered. */
  messageAt(offset: Offset): FilteredMessage | undefined {
    return this.#remembered.get(offset);
  }

  outcome(outcome: OutcomeKey): boolean {
    return this.#matchesOutcome({ messageId: "", sourceId: "", message: {}, outcomes: [outcome] });
  }

  /** Whether the event may match. Without `stored`, its message is evaluated later. */
  event(event: LiveEvent, stored: StoredMessage | undefined): boolean {
    if (event.kind === "rejected") return this.#matchesRejected(rejectedSubject(event.rejection));
    if (this.matchesAll) return true;
    if (!this.outcome(event)) return false;
    return stored === undefined || this.message(stored).matches;
  }
}
