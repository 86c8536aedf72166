import type { Offset, StoredBatch } from "../message/batch.js";
import { lastMessageIndex } from "../message/batch.js";
import type { LogTally } from "../ports/event-log.js";

type Counted = Pick<StoredBatch, "sourceId" | "first" | "itemCount" | "skipped" | "onlyDestinations">;

/** Counts the messages of these batches with offsets after `after`, up to `upTo`. */
export function tallyBatches(batches: Iterable<Counted>, after: Offset, upTo: Offset): LogTally["counts"] {
  const counts = new Map<string, LogTally["counts"][number]>();
  for (const { sourceId, first, itemCount, skipped, onlyDestinations } of batches) {
    const from = Math.max(0, after + 1 - first);
    const end = Math.min(lastMessageIndex({ itemCount, skipped }), upTo - first) + 1;
    const messages = end - from - skipped.filter((index) => index >= from && index < end).length;
    if (messages <= 0) continue;
    const key = JSON.stringify([sourceId, onlyDestinations]);
    counts.set(key, {
      sourceId,
      ...(onlyDestinations === undefined ? {} : { onlyDestinations }),
      messages: (counts.get(key)?.messages ?? 0) + messages,
    });
  }
  return [...counts.values()];
}
