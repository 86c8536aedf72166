import type { StoredBatch, StoredMessage } from "../message/batch.js";
import { decodeBatch } from "../message/decode-batch.js";
import { lastMessageIndex } from "../message/last-message.js";
import { type Offset, offsetAt } from "../message/offset.js";
import { overwriteMessages } from "../message/overwrite-messages.js";

/** Batches in the order of their offsets. */
export class BatchList {
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
export function lastOffset(batch: StoredBatch): Offset {
  return offsetAt(batch.first, lastMessageIndex(batch));
}
