import type { HeldMessage } from "../message/batch.js";

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
