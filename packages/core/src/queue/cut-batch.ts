import { ENVELOPE_BYTES, type HeldMessage } from "../message/batch.js";

export interface BatchLimits {
  /** The most messages in a request. */
  readonly messages: number;
  /** The most bytes of the uncompressed body, envelope included. */
  readonly bytes: number;
}

/**
 * Counts how many of the oldest messages make the next batch: as many as both limits allow, and at least one. A message that is too
 * large for any batch is refused before it is queued. `peek(i)` is the i-th oldest.
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
