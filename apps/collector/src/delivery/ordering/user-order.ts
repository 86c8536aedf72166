import type { Offset, Retry } from "@sluice/event-log";
import type { UncheckedMessage } from "@sluice/protocol";

/** The user whose messages keep their order: `userId`, else `anonymousId`. */
export function userOf(message: UncheckedMessage): string {
  return String(message.userId ?? message.anonymousId ?? "");
}

/** Where an unfinished message is. `T` is what the consumer needs to start it. */
type Held<T> =
  | { readonly kind: "in_flight" }
  /** In memory, until the one before it is done. */
  | { readonly kind: "waiting"; readonly work: T }
  /** In the retry queue: it failed, or is behind one that did. */
  | { readonly kind: "parked"; readonly retry: Retry };

interface Entry<T> {
  readonly offset: Offset;
  held: Held<T>;
}

/**
 * Keeps each user's unfinished messages in a queue. Only the first of a queue may be in flight. When the first is in the retry
 * queue, those behind it are parked there too, so that a failing user takes no memory and delays nobody else.
 */
export class UserOrder<T> {
  readonly #bytesOf: (work: T) => number;
  readonly #queues = new Map<string, Entry<T>[]>();
  #waiting = 0;
  #waitingBytes = 0;

  /** `bytesOf`: the memory that a waiting message takes. Default: 0. */
  constructor(bytesOf: (work: T) => number = () => 0) {
    this.#bytesOf = bytesOf;
  }

  /** No user has an unfinished message. */
  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  /** Messages that wait in memory. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The memory that they take, in bytes. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Adds a message of the log to its user's queue: it may start, waits in memory, or has to be parked. */
  join(user: string, offset: Offset, work: T): "start" | "wait" | "park" {
    const queue = this.#queues.get(user);
    if (queue === undefined) {
      this.#queues.set(user, [{ offset, held: { kind: "in_flight" } }]);
      return "start";
    }
    if (queue[0]?.held.kind === "parked") return "park";
    queue.push({ offset, held: { kind: "waiting", work } });
    this.#waiting += 1;
    this.#waitingBytes += this.#bytesOf(work);
    return "wait";
  }

  /** The message is in the retry queue from now on. If it is not in its user's queue yet, it joins. */
  park(user: string, retry: Retry): void {
    const queue = this.#queues.get(user) ?? [];
    this.#queues.set(user, queue);
    const held = { kind: "parked", retry } as const;
    const entry = queue.find(({ offset }) => offset === retry.offset);
    if (entry === undefined) {
      // In the order of the log, but behind a message that is already in flight.
      const place = queue.findIndex(
        (other) => other.offset > retry.offset && other.held.kind !== "in_flight",
      );
      queue.splice(place < 0 ? queue.length : place, 0, { offset: retry.offset, held });
    } else {
      if (entry.held.kind === "waiting") this.#removeWaiting(entry.held.work);
      entry.held = held;
    }
  }

  /** The user's messages that wait in memory. */
  waitingOf(user: string): T[] {
    return (this.#queues.get(user) ?? []).flatMap(({ held }) => (held.kind === "waiting" ? [held.work] : []));
  }

  /** Whether a parked message is the first of its queue. If so, it is in flight from then on. */
  resume(user: string, offset: Offset): boolean {
    const first = this.#queues.get(user)?.[0];
    if (first !== undefined && first.offset !== offset) return false;
    if (first !== undefined) first.held = { kind: "in_flight" };
    return true;
  }

  /** The user whose first message has this offset, for a message that is itself gone. */
  firstAt(offset: Offset): string | undefined {
    for (const [user, queue] of this.#queues) if (queue[0]?.offset === offset) return user;
    return undefined;
  }

  /** Removes the user's parked messages that are gone: nothing else would. */
  dropParked(user: string, isGone: (offset: Offset) => boolean): void {
    const queue = this.#queues.get(user);
    if (queue === undefined) return;
    const left = queue.filter(({ offset, held }) => held.kind !== "parked" || !isGone(offset));
    if (left.length === 0) this.#queues.delete(user);
    else this.#queues.set(user, left);
  }

  /** Removes a finished message. Returns what to do with the next one if it was its user's first. */
  leave(user: string, offset: Offset): Held<T> | undefined {
    const queue = this.#queues.get(user);
    const place = queue?.findIndex((entry) => entry.offset === offset) ?? -1;
    if (queue === undefined || place < 0) return undefined;
    queue.splice(place, 1);
    // It was in flight before its user's order counted.
    if (place > 0) return undefined;
    const [next] = queue;
    if (next === undefined) {
      this.#queues.delete(user);
      return undefined;
    }
    const { held } = next;
    if (held.kind === "waiting") {
      next.held = { kind: "in_flight" };
      this.#removeWaiting(held.work);
    }
    return held;
  }

  #removeWaiting(work: T): void {
    this.#waiting -= 1;
    this.#waitingBytes -= this.#bytesOf(work);
  }
}
