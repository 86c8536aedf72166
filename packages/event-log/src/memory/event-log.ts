import type { Clock } from "@sluice/resilience";
import type { NewBatch, StoredBatch, StoredMessage } from "../message/batch.js";
import { decodeBatch } from "../message/decode-batch.js";
import { lastMessageIndex } from "../message/last-message.js";
import { BEFORE_FIRST, type Offset, offsetAt } from "../message/offset.js";
import { overwriteMessages } from "../message/overwrite-messages.js";
import type { FinalState } from "../ports/consumers.js";
import type { AppendResult, EventLog, MessageQuery } from "../ports/event-log.js";
import type { Page, PageRequest } from "../ports/page.js";
import { matchesQuery } from "../rules/matches-query.js";
import { readPosition, writePosition } from "../rules/page-cursor.js";
import type { MemoryUsageCounters } from "./usage-counters.js";

export interface MemoryEventLog extends EventLog {
  /** The number of messages after an offset. */
  countAfter(offset: Offset): number;
  /** The number of messages and of bytes held. */
  size(): { readonly messages: number; readonly bytes: number };
  sourceOf(offset: Offset): string | undefined;
  /** Forgets all messages and marks; the head stays. */
  clear(): void;
  /** Overwrites the messages at these offsets. */
  overwrite(offsets: readonly Offset[]): void;
}

export interface MemoryEventLogOptions {
  readonly dedupeWindowMs: number;
  readonly clock: Pick<Clock, "monotonic">;
  readonly usage: MemoryUsageCounters;
  /** Whether a message stands so at a consumer. */
  readonly hasOutcome: (offset: Offset, state: FinalState) => boolean;
}

export function memoryEventLog({
  dedupeWindowMs,
  clock,
  usage,
  hasOutcome: isSettledAs,
}: MemoryEventLogOptions): MemoryEventLog {
  const batches: StoredBatch[] = [];
  /** (source, messageId) → when it was received, as a monotonic reading. */
  const marks = new Map<string, number>();
  const listeners = new Set<() => void>();
  let head: Offset = BEFORE_FIRST;

  const markNew = (batch: NewBatch): number[] => {
    const duplicates: number[] = [];
    for (const { index, messageId } of batch.keys) {
      const mark = `${batch.sourceId}\0${messageId}`;
      const seenAtMs = marks.get(mark);
      const nowMs = clock.monotonic();
      if (seenAtMs !== undefined && nowMs - seenAtMs < dedupeWindowMs) duplicates.push(index);
      else marks.set(mark, nowMs);
    }
    return duplicates;
  };

  const lastOf = (batch: StoredBatch): Offset => offsetAt(batch.first, lastMessageIndex(batch));

  /** The index of the first batch that ends after `offset`. */
  const indexAfter = (offset: Offset): number => {
    let low = 0;
    let high = batches.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const batch = batches[middle];
      if (batch !== undefined && lastOf(batch) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  const messagesOf = (batch: StoredBatch): StoredMessage[] => decodeBatch(batch);

  return {
    async append(batch): Promise<AppendResult> {
      const duplicates = markNew(batch);
      if (duplicates.length === batch.keys.length) return { duplicates };
      const { keys, ...content } = batch;
      const first = offsetAt(head, 1);
      const stored: StoredBatch = {
        ...content,
        body: batch.body.slice(),
        skipped: [...batch.skipped, ...duplicates].sort((a, b) => a - b),
        first,
      };
      // Nobody reads refused items and duplicates again, and no purge would find whose they are.
      if (stored.skipped.length > 0)
        overwriteMessages(stored.body, stored.skipped, { isSingle: false, skipped: [] });
      batches.push(stored);
      head = lastOf(stored);
      usage.accepted(batch.sourceId, batch.receivedAtMs, keys.length - duplicates.length);
      for (const listener of listeners) listener();
      return { duplicates };
    },

    async read(after, max) {
      const found: StoredBatch[] = [];
      let messages = 0;
      let bytes = 0;
      for (let i = indexAfter(after); i < batches.length; i++) {
        const batch = batches[i];
        if (batch === undefined) break;
        messages += batch.itemCount - batch.skipped.length;
        bytes += batch.body.byteLength;
        if (found.length > 0 && (messages > max.messages || bytes > max.bytes)) break;
        found.push(batch);
      }
      return found;
    },

    head: () => head,

    clear() {
      batches.length = 0;
      marks.clear();
    },

    onAppend(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    async find(query: MessageQuery, page: PageRequest): Promise<Page<StoredMessage>> {
      const position = readPosition(page.cursor) ?? Number.POSITIVE_INFINITY;
      const items: StoredMessage[] = [];
      for (let i = batches.length - 1; i >= 0; i--) {
        const batch = batches[i];
        if (batch === undefined || batch.first >= position) continue;
        for (const stored of messagesOf(batch).reverse()) {
          if (stored.offset >= position || !matchesQuery(stored, query)) continue;
          if (query.outcome !== undefined && !isSettledAs(stored.offset, query.outcome)) continue;
          const last = items.at(-1);
          if (items.length === page.limit && last !== undefined) {
            return { items, nextCursor: writePosition(last.offset) };
          }
          items.push(stored);
        }
      }
      return { items };
    },

    async get(offset) {
      const batch = batches[indexAfter((offset - 1) as Offset)];
      return batch && messagesOf(batch).find((stored) => stored.offset === offset);
    },

    countAfter(offset) {
      let count = 0;
      for (let i = indexAfter(offset); i < batches.length; i++) {
        const batch = batches[i];
        if (batch === undefined) break;
        const from = Math.max(0, offset + 1 - batch.first);
        count += batch.itemCount - from - batch.skipped.filter((index) => index >= from).length;
      }
      return count;
    },

    size() {
      let messages = 0;
      let bytes = 0;
      for (const batch of batches) {
        messages += batch.itemCount - batch.skipped.length;
        bytes += batch.body.byteLength;
      }
      return { messages, bytes };
    },

    overwrite(offsets) {
      for (const offset of offsets) {
        const place = indexAfter((offset - 1) as Offset);
        const batch = batches[place];
        if (batch === undefined) continue;
        const { ip: _, ...rest } = batch;
        const { body, first, kind, skipped } = rest;
        overwriteMessages(body, [offset - first], { isSingle: kind !== undefined, skipped });
        // The sender's address is the user's too, whoever else sent in the same request.
        batches[place] = rest;
      }
    },

    sourceOf(offset) {
      return batches[indexAfter((offset - 1) as Offset)]?.sourceId;
    },
  };
}
