import type { Offset, Retry } from "@sluice/event-log";
import type { UncheckedMessage } from "@sluice/protocol";

/** The user whose messages are kept in order: `userId`, else `anonymousId`. */
export function userOf(message: UncheckedMessage): string {
  return String(message.userId ?? message.anonymousId ?? "");
}

/** Where a message is that is not done. `T` is what the consumer needs to begin it. */
type Held<T> =
  | { readonly kind: "under_way" }
  /** In memory, until the one before it is done. */
  | { readonly kind: "waiting"; readonly work: T }
  /** In the retry queue: it failed, or stands behind one that did. */
  | { readonly kind: "parked"; readonly retry: Retry };

interface Entry<T> {
  readonly offset: Offset;
  held: Held<T>;
}

/**
 * Of each user's messages that are not done, the first alone may be under way. With the first in the retry queue those
 * behind it are parked there too, so that a user who fails takes no memory and holds back nobody else.
 */
export class UserOrder<T> {
  readonly #bytesOf: (work: T) => number;
  readonly #lines = new Map<string, Entry<T>[]>();
  #waiting = 0;
  #waitingBytes = 0;

  /** `bytesOf`: what a message that waits takes in memory. Default: nothing. */
  constructor(bytesOf: (work: T) => number = () => 0) {
    this.#bytesOf = bytesOf;
  }

  /** Nobody has a message that is not done. */
  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  /** Messages that wait in memory. */
  get waiting(): number {
    return this.#waiting;
  }

  /** What they take. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** A message of the log joins its user's line: it may begin, waits in memory, or is to be parked. */
  join(user: string, offset: Offset, work: T): "begin" | "wait" | "park" {
    const line = this.#lines.get(user);
    if (line === undefined) {
      this.#lines.set(user, [{ offset, held: { kind: "under_way" } }]);
      return "begin";
    }
    if (line[0]?.held.kind === "parked") return "park";
    line.push({ offset, held: { kind: "waiting", work } });
    this.#waiting += 1;
    this.#waitingBytes += this.#bytesOf(work);
    return "wait";
  }

  /** The message is in the retry queue from now on; one that is not in its line yet joins it. */
  park(user: string, retry: Retry): void {
    const line = this.#lines.get(user) ?? [];
    this.#lines.set(user, line);
    const held = { kind: "parked", retry } as const;
    const entry = line.find(({ offset }) => offset === retry.offset);
    if (entry === undefined) {
      // In the log's order, but behind one that is under way already.
      const place = line.findIndex((other) => other.offset > retry.offset && other.held.kind !== "under_way");
      line.splice(place < 0 ? line.length : place, 0, { offset: retry.offset, held });
    } else {
      if (entry.held.kind === "waiting") this.#noLongerWaits(entry.held.work);
      entry.held = held;
    }
  }

  /** What waits in memory in the user's line. */
  waitingOf(user: string): T[] {
    return (this.#lines.get(user) ?? []).flatMap(({ held }) => (held.kind === "waiting" ? [held.work] : []));
  }

  /** Whether a parked message is the first of its line; it is under way from then on. */
  resume(user: string, offset: Offset): boolean {
    const first = this.#lines.get(user)?.[0];
    if (first !== undefined && first.offset !== offset) return false;
    if (first !== undefined) first.held = { kind: "under_way" };
    return true;
  }

  /** The user whose first message is at this offset: looked for, where the message itself is gone. */
  firstAt(offset: Offset): string | undefined {
    for (const [user, line] of this.#lines) if (line[0]?.offset === offset) return user;
    return undefined;
  }

  /** Parked messages of the user that are gone leave the line: nobody will call them up. */
  dropParked(user: string, isGone: (offset: Offset) => boolean): void {
    const line = this.#lines.get(user);
    if (line === undefined) return;
    const left = line.filter(({ offset, held }) => held.kind !== "parked" || !isGone(offset));
    if (left.length === 0) this.#lines.delete(user);
    else this.#lines.set(user, left);
  }

  /** A message is done: what is to be done with the next, where it was its user's first. */
  leave(user: string, offset: Offset): Held<T> | undefined {
    const line = this.#lines.get(user);
    const place = line?.findIndex((entry) => entry.offset === offset) ?? -1;
    if (line === undefined || place < 0) return undefined;
    line.splice(place, 1);
    // It was under way before its user's order counted.
    if (place > 0) return undefined;
    const [next] = line;
    if (next === undefined) {
      this.#lines.delete(user);
      return undefined;
    }
    const { held } = next;
    if (held.kind === "waiting") {
      next.held = { kind: "under_way" };
      this.#noLongerWaits(held.work);
    }
    return held;
  }

  #noLongerWaits(work: T): void {
    this.#waiting -= 1;
    this.#waitingBytes -= this.#bytesOf(work);
  }
}
