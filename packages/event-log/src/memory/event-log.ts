import type { Clock } from "@sluice/resilience";
import type { NewBatch, StoredBatch, StoredMessage } from "../message/batch.js";
import { BEFORE_FIRST, lastMessageIndex, type Offset, offsetAt } from "../message/batch.js";
import { decodeBatch } from "../message/decode-batch.js";
import { overwriteMessages } from "../message/overwrite-messages.js";
import type { FinalState } from "../ports/consumers.js";
import type { EventLog } from "../ports/event-log.js";
import { matchesQuery, readPosition, writePosition } from "../rules/page-cursor.js";
import { tallyBatches } from "../rules/tally-batches.js";
import type { MemoryUsageCounters } from "./rejection-log.js";

/** Batches in the order of their offsets. */
class BatchList {
  readonly #batches: StoredBatch[] = [];

  add(batch: StoredBatch): void {
    this.#batches.push(batch);
  }

  clear(): void {
    this.#batches.length = 0;
  }

  /** The batches that end after `offset`, oldest first. */
  *after(offset: Offset): Generator<StoredBatch> {
    for (let i = this.#indexAfter(offset); i < this.#batches.length; i++) {
      const batch = this.#batches[i];
      if (batch !== undefined) yield batch;
    }
  }

  /** The messages before `position`, newest first. */
  *messagesBefore(position: number): Generator<StoredMessage> {
    for (let i = this.#batches.length - 1; i >= 0; i--) {
      const batch = this.#batches[i];
      if (batch === undefined || batch.first >= position) continue;
      for (const message of decodeBatch(batch).reverse()) if (message.offset < position) yield message;
    }
  }

  /** The batch with the message at `offset`, or with the first one after it. */
  batchAt(offset: Offset): StoredBatch | undefined {
    return this.#batches[this.#indexAfter((offset - 1) as Offset)];
  }

  size(): { readonly messages: number; readonly bytes: number } {
    let messages = 0;
    let bytes = 0;
    for (const { itemCount, skipped, body } of this.#batches) {
      messages += itemCount - skipped.length;
      bytes += body.byteLength;
    }
    return { messages, bytes };
  }

  /** Overwrites the message at `offset`. */
  overwrite(offset: Offset): void {
    const place = this.#indexAfter((offset - 1) as Offset);
    const batch = this.#batches[place];
    if (batch === undefined) return;
    // The sender's address may be the user's, so it goes even if other users' messages came in the same request.
    const { ip: _, ...rest } = batch;
    const { body, first, kind, skipped } = rest;
    overwriteMessages(body, [offset - first], { isSingle: kind !== undefined, skipped });
    this.#batches[place] = rest;
  }

  /** The index of the first batch that ends after `offset`. */
  #indexAfter(offset: Offset): number {
    let low = 0;
    let high = this.#batches.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const batch = this.#batches[middle];
      if (batch !== undefined && lastOffset(batch) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The offset of a batch's last message. */
function lastOffset(batch: StoredBatch): Offset {
  return offsetAt(batch.first, lastMessageIndex(batch));
}

export interface MemoryEventLog extends EventLog {
  /** The number of messages after an offset. */
  countAfter(offset: Offset): number;
  /** The number of stored messages and their bytes. */
  size(): { readonly messages: number; readonly bytes: number };
  sourceOf(offset: Offset): string | undefined;
  /** Deletes all messages and all ids known to dedupe. The head stays. */
  clear(): void;
  /** Overwrites the messages at these offsets. */
  overwrite(offsets: readonly Offset[]): void;
}

export interface MemoryEventLogOptions {
  readonly dedupeWindowMs: number;
  readonly clock: Pick<Clock, "monotonic">;
  readonly usage: MemoryUsageCounters;
  /** Whether a message has this state at any consumer. */
  readonly hasOutcome: (offset: Offset, state: FinalState) => boolean;
}

export function memoryEventLog(options: MemoryEventLogOptions): MemoryEventLog {
  const { usage, hasOutcome } = options;
  const batches = new BatchList();
  const dedupe = new DedupeMarks(options);
  const listeners = new Set<() => void>();
  let head: Offset = BEFORE_FIRST;

  return {
    async append(batch) {
      const duplicates = dedupe.markNew(batch);
      if (duplicates.length === batch.keys.length) return { duplicates };
      const stored = storedBatch(batch, duplicates, offsetAt(head, 1));
      batches.add(stored);
      head = lastOffset(stored);
      usage.accepted(batch.sourceId, batch.receivedAtMs, batch.keys.length - duplicates.length);
      for (const listener of listeners) listener();
      return duplicates.length === 0 ? { duplicates, first: stored.first } : { duplicates };
    },

    async read(after, max) {
      const found: StoredBatch[] = [];
      let messages = 0;
      let bytes = 0;
      for (const batch of batches.after(after)) {
        messages += batch.itemCount - batch.skipped.length;
        bytes += batch.body.byteLength;
        if (found.length > 0 && (messages > max.messages || bytes > max.bytes)) break;
        found.push(batch);
      }
      return found;
    },

    async tally(after, upTo) {
      return { upTo, counts: tallyBatches(batches.after(after), after, upTo) };
    },

    head: () => head,

    clear() {
      batches.clear();
      dedupe.clear();
    },

    onAppend(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    async find(query, page) {
      const items: StoredMessage[] = [];
      for (const message of batches.messagesBefore(readPosition(page.cursor) ?? Number.POSITIVE_INFINITY)) {
        if (!matchesQuery(message, query)) continue;
        if (query.outcome !== undefined && !hasOutcome(message.offset, query.outcome)) continue;
        const last = items.at(-1);
        if (items.length === page.limit && last !== undefined)
          return { items, nextCursor: writePosition(last.offset) };
        items.push(message);
      }
      return { items };
    },

    async get(offset) {
      const batch = batches.batchAt(offset);
      return batch && decodeBatch(batch).find((message) => message.offset === offset);
    },

    countAfter: (offset) =>
      tallyBatches(batches.after(offset), offset, head).reduce((sum, { messages }) => sum + messages, 0),
    size: () => batches.size(),
    sourceOf: (offset) => batches.batchAt(offset)?.sourceId,
    overwrite(offsets) {
      for (const offset of offsets) batches.overwrite(offset);
    },
  };
}

/** A copy of the batch without its duplicates. */
function storedBatch(batch: NewBatch, duplicates: readonly number[], first: Offset): StoredBatch {
  const { keys: _, ...content } = batch;
  // Not `slice`: of a Buffer it is the same memory.
  const body = new Uint8Array(batch.body);
  const skipped = [...batch.skipped, ...duplicates].sort((a, b) => a - b);
  // Refused items and duplicates are never read again, and no purge would find them.
  if (skipped.length > 0) overwriteMessages(body, skipped, { isSingle: false, skipped: [] });
  return { ...content, body, skipped, first };
}

/** The ids that dedupe knows. */
class DedupeMarks {
  readonly #windowMs: number;
  readonly #clock: Pick<Clock, "monotonic">;
  /** Source and message id → the monotonic reading at which it was received. */
  readonly #marks = new Map<string, number>();

  constructor({ dedupeWindowMs, clock }: Pick<MemoryEventLogOptions, "dedupeWindowMs" | "clock">) {
    this.#windowMs = dedupeWindowMs;
    this.#clock = clock;
  }

  /** Marks the new ids of a batch and returns the indexes of the duplicates. */
  markNew({ sourceId, keys }: NewBatch): number[] {
    const duplicates: number[] = [];
    for (const { index, messageId } of keys) {
      const mark = `${sourceId}\0${messageId}`;
      const seenAtMs = this.#marks.get(mark);
      const nowMs = this.#clock.monotonic();
      if (seenAtMs !== undefined && nowMs - seenAtMs < this.#windowMs) duplicates.push(index);
      else this.#marks.set(mark, nowMs);
    }
    return duplicates;
  }

  clear(): void {
    this.#marks.clear();
  }
}
