import { type Batch, ENVELOPE_BYTES, type HeldMessage } from "../message/batch.js";

/**
 * How long a batch may be in flight before it counts as stranded, in milliseconds. Cloudflare ends the work of a request 30 s after its
 * response, and nothing tells the client. A batch that is merely slow is then sent twice: the collector recognizes its ids.
 */
export const STRANDED_AFTER_MS = 60_000;

/** The batches that are being sent. */
export class InFlight {
  /** Batch → the monotonic reading at which it was sent. */
  readonly #sentAtMs = new Map<Batch, number>();

  get size(): number {
    return this.#sentAtMs.size;
  }

  add(batch: Batch, nowMs: number): void {
    this.#sentAtMs.set(batch, nowMs);
  }

  /** Returns false if the batch was taken back meanwhile. */
  remove(batch: Batch): boolean {
    return this.#sentAtMs.delete(batch);
  }

  /** Removes and returns the batches that are stranded, oldest message first. */
  takeStranded(nowMs: number): readonly Batch[] {
    const isStranded = (batch: Batch): boolean =>
      nowMs - (this.#sentAtMs.get(batch) ?? nowMs) >= STRANDED_AFTER_MS;
    return this.oldestFirst().filter((batch) => isStranded(batch) && this.remove(batch));
  }

  /** All batches, oldest message first. */
  oldestFirst(): Batch[] {
    return [...this.#sentAtMs.keys()].sort((a, b) => firstSequence(a) - firstSequence(b));
  }
}

function firstSequence(batch: Batch): number {
  return batch[0]?.sequence ?? 0;
}

/**
 * A first-in, first-out queue in a ring that doubles when it is full: adding and taking cost the same with ten messages as with a
 * hundred thousand. Limits and timers are the batcher's.
 */
export class MessageQueue {
  // The capacity is a power of two, so that a mask turns a position into its slot.
  #ring: (HeldMessage | undefined)[] = new Array(16);
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(message: HeldMessage): void {
    if (this.#length === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#length) & (this.#ring.length - 1)] = message;
    this.#length += 1;
  }

  /** The message `offset` places behind the oldest. It stays in the queue. */
  peek(offset = 0): HeldMessage | undefined {
    return offset < this.#length ? this.#ring[(this.#head + offset) & (this.#ring.length - 1)] : undefined;
  }

  /** Removes and returns the `count` oldest messages. */
  take(count: number): HeldMessage[] {
    const taken: HeldMessage[] = [];
    const mask = this.#ring.length - 1;
    for (let i = Math.min(count, this.#length); i > 0; i--) {
      const message = this.#ring[this.#head];
      this.#ring[this.#head] = undefined;
      this.#head = (this.#head + 1) & mask;
      this.#length -= 1;
      if (message) taken.push(message);
    }
    return taken;
  }

  #grow(): void {
    const larger: (HeldMessage | undefined)[] = new Array(this.#ring.length * 2);
    for (let i = 0; i < this.#length; i++) larger[i] = this.peek(i);
    this.#ring = larger;
    this.#head = 0;
  }
}

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
