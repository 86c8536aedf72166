import { lastMessageIndex, type NewBatch, type Offset, offsetAt } from "@sluice/event-log";
import { countMessage, type EventEntry, eventOf } from "./event-entry.js";
import { keyOf, type SourceEvents } from "./source-events.js";
import { SAMPLED_FIRST } from "./take-batch.js";

/** Batches that wait for one before them that is read from the log. Beyond that, they are read too. */
const MOST_WAITING = 10_000;

/** The names of an admitted batch. It holds nothing of the batch's texts. */
export interface AdmittedNames {
  readonly events: SourceEvents;
  readonly counts: ReadonlyMap<EventEntry, number>;
  readonly receivedAtMs: number;
  /** The index of its last message. */
  readonly lastIndex: number;
}

/**
 * What ingestion found in batches that were stored, so that the log need not be read for it: names that are known, of messages that need
 * not be looked into.
 */
export class HandedOn {
  readonly #byFirst = new Map<Offset, AdmittedNames>();
  /** Names of which a message is left to be read, and looked into. */
  readonly #asked = new Set<EventEntry>();

  /** The names of a batch, found before it is stored. Undefined: it is to be read. `sampled`: of these a message was looked into lately. */
  admit(batch: NewBatch, events: SourceEvents, sampled: ReadonlySet<EventEntry>): AdmittedNames | undefined {
    const counts = new Map<EventEntry, number>();
    for (const { type, event } of batch.keys) {
      // The keys have no names of pages and screens.
      const entry =
        type === "page" || type === "screen" ? undefined : events.known(keyOf(eventOf({ type, event })));
      if (entry === undefined || entry.sampled < SAMPLED_FIRST) return undefined;
      if (!sampled.has(entry) && !this.#asked.has(entry)) {
        this.#asked.add(entry);
        return undefined;
      }
      counts.set(entry, (counts.get(entry) ?? 0) + 1);
    }
    const { receivedAtMs } = batch;
    return { events, counts, receivedAtMs, lastIndex: lastMessageIndex(batch) };
  }

  /** Names may be asked for again. */
  askAgain(): void {
    this.#asked.clear();
  }

  /** Adds a batch that was stored. */
  add(first: Offset, names: AdmittedNames): void {
    if (this.#byFirst.size < MOST_WAITING) this.#byFirst.set(first, names);
  }

  /** Counts the batches that follow `position`. Returns the new position. */
  countAfter(position: Offset): Offset {
    let end = position;
    for (const [first, names] of this.#byFirst) {
      if (first > end + 1) break;
      this.#byFirst.delete(first);
      if (first === end + 1) end = count(first, names);
    }
    return end;
  }

  /** Where the next batch begins that need not be read. */
  get next(): Offset | undefined {
    const [first] = this.#byFirst.keys();
    return first;
  }

  clear(): void {
    this.#byFirst.clear();
  }
}

function count(first: Offset, { events, counts, receivedAtMs, lastIndex }: AdmittedNames): Offset {
  events.isDirty = true;
  for (const [entry, messages] of counts) countMessage(entry, receivedAtMs, messages);
  return offsetAt(first, lastIndex);
}
