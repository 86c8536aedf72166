import { ENVELOPE_BYTES, type HeldMessage } from "../message/batch.js";

export interface BatchLimits {
  /** Messages in a request, at most. */
  readonly messages: number;
  /** Bytes of the uncompressed body with its envelope, inclusive. */
  readonly bytes: number;
}

/**
 * How many of the oldest messages make the next batch: as many as both limits let in, and at least one, since a message
 * that fits no batch has been refused before it was queued. `peek(i)` is the i-th oldest.
 */
export function cutBatch(peek: (offset: number) => HeldMessage | undefined, limits: BatchLimits): number {
  let bytes = ENVELOPE_BYTES;
  let count = 0;
  for (; count < limits.messages; count++) {
    const message = peek(count);
    if (!message) break;
    bytes += message.bytes + (count === 0 ? 0 : 1);
    if (bytes > limits.bytes && count > 0) break;
  }
  return count;
}
