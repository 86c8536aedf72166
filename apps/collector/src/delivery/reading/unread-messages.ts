import type { EventLog, Offset } from "@sluice/event-log";
import { type SerialQueue, serialQueue } from "@sluice/resilience";
import type { Connection, DestinationDocument } from "../../documents/documents.js";

/** The messages that a destination has not read. */
interface Unread {
  readonly unread: number;
  /** Those of them that it will skip, because they came while it was disabled. */
  readonly skipped: number;
}

/** Counts what a destination has not read. Keeps the counts, so that the next call only counts what has changed. */
export class UnreadMessages {
  readonly #destinationId: string;
  readonly #log: Pick<EventLog, "tally" | "head">;
  readonly #all: RangeCount;
  /** By the beginning of a span in which it was disabled. */
  readonly #disabled = new Map<Offset, RangeCount>();

  constructor(destinationId: string, log: Pick<EventLog, "tally" | "head">) {
    this.#destinationId = destinationId;
    this.#log = log;
    this.#all = new RangeCount(destinationId, log);
  }

  /** After `passed`, which only moves forward. */
  async after(
    passed: Offset,
    { connections, disabledSpans }: Pick<DestinationDocument, "connections" | "disabledSpans">,
  ): Promise<Unread> {
    const head = this.#log.head();
    const spans = disabledSpans.filter(({ upTo = head }) => upTo > passed);
    for (const after of this.#disabled.keys())
      if (!spans.some((span) => span.after === after)) this.#disabled.delete(after);
    const skipped = spans.map((span) => {
      const count = this.#disabled.get(span.after) ?? new RangeCount(this.#destinationId, this.#log);
      this.#disabled.set(span.after, count);
      const from = Math.max(span.after, passed) as Offset;
      return count.between(from, span.upTo ?? head, connections);
    });
    const [unread, ...counts] = await Promise.all([this.#all.between(passed, head, connections), ...skipped]);
    return { unread, skipped: counts.reduce((sum, count) => sum + count, 0) };
  }
}

/**
 * Counts the messages for one destination in a range of the log whose ends only move forward. Reads no message, and each part of the log
 * at most twice: when it comes into the range, and when it leaves it.
 */
class RangeCount {
  readonly #destinationId: string;
  readonly #log: Pick<EventLog, "tally">;
  readonly #inOrder: SerialQueue = serialQueue();
  #connections: readonly Connection[] = [];
  #after = 0 as Offset;
  #upTo = 0 as Offset;
  #messages = 0;

  constructor(destinationId: string, log: Pick<EventLog, "tally">) {
    this.#destinationId = destinationId;
    this.#log = log;
  }

  /** The messages after `after` up to `upTo` for a destination with these connections. */
  between(after: Offset, upTo: Offset, connections: readonly Connection[]): Promise<number> {
    return this.#inOrder(async () => {
      const isOn = connections === this.#connections && after <= this.#upTo;
      if (!isOn || upTo < this.#upTo) {
        this.#connections = connections;
        this.#after = after;
        this.#upTo = after;
        this.#messages = 0;
      }
      const left = await this.#count(this.#after, after);
      const added = await this.#count(this.#upTo, upTo);
      this.#after = after;
      this.#upTo = upTo;
      this.#messages += added - left;
      return this.#messages;
    });
  }

  async #count(after: Offset, upTo: Offset): Promise<number> {
    let messages = 0;
    for (let at = after; at < upTo; ) {
      // Up to the next place where a source is connected or disconnected.
      const next = this.#connections
        .flatMap(({ since, upTo: last = since }) => [since, last])
        .filter((offset) => offset > at);
      const tally = await this.#log.tally(at, Math.min(upTo, ...next) as Offset);
      for (const { sourceId, onlyDestinations, messages: some } of tally.counts) {
        const isConcerned =
          onlyDestinations === undefined
            ? this.#isConnected(sourceId, at)
            : onlyDestinations.includes(this.#destinationId);
        if (isConcerned) messages += some;
      }
      at = tally.upTo;
    }
    return messages;
  }

  /** Whether it gets the source's messages right after an offset. */
  #isConnected(sourceId: string, after: Offset): boolean {
    return this.#connections.some(
      (one) =>
        one.sourceId === sourceId && one.since <= after && (one.upTo === undefined || after < one.upTo),
    );
  }
}
