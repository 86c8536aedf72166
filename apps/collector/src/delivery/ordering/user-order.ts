import type { Offset, Retry, Lane as StoredLane } from "@sluice/event-log";

/** The messages of a lane in the store that nobody has started. */
interface Behind {
  /** The latest of them. Undefined: there is none. May be one that has left the store since. */
  last: Offset | undefined;
  /** How many there are, for the statistics. Messages of a deleted user leave without notice. */
  count: number;
}

/**
 * A lane: one user's unfinished messages. At most one of them is in flight.
 *
 * - `in_flight`: the first is in flight, or is about to start. `waiting`: those behind it that wait in memory; only if the store holds none.
 *   `next`: the first of those in the store. Entered by the first message, and when the turn of a stored one comes.
 * - `blocked`: the first failed and waits for its time. All others are in the store. Left when it is due, or ended.
 * - `looking`: the one before ended, and the store is asked for the next. `upTo`: the latest one that was handed to the store before.
 *
 * A lane without messages is removed.
 */
type Lane<T> =
  | {
      readonly kind: "in_flight";
      readonly offset: Offset;
      readonly waiting: T[];
      readonly next: Retry[];
      readonly behind: Behind;
    }
  | { readonly kind: "blocked"; readonly first: Offset; readonly behind: Behind }
  | { readonly kind: "looking"; readonly upTo: Offset | undefined; readonly behind: Behind };

/** What a lane needs after its first message has left. */
export type Turn<T> =
  /** This message of the log starts. */
  | { readonly kind: "start"; readonly work: T }
  /** This retry of the store starts. */
  | { readonly kind: "resume"; readonly retry: Retry }
  /** The store is asked, once it has everything that was handed to it. */
  | { readonly kind: "look" };

/** Retries to take from the store for one lane, and in memory for all. More are read when their turn comes. */
const PAGE = 50;
const MAX_NEXT = 1_000;

/**
 * Keeps each user's unfinished messages in order. Messages behind a failed one are in the store only, so that a failing user takes
 * memory for one message, however many wait, and delays nobody else.
 */
export class UserOrder<T> {
  readonly #offsetOf: (work: T) => Offset;
  readonly #bytesOf: (work: T) => number;
  readonly #lanes = new Map<number, Lane<T>>();
  #waiting = 0;
  #waitingBytes = 0;
  #behind = 0;
  #next = 0;

  /** `bytesOf`: the memory that a waiting message takes. */
  constructor(offsetOf: (work: T) => Offset, bytesOf: (work: T) => number) {
    this.#offsetOf = offsetOf;
    this.#bytesOf = bytesOf;
  }

  /** Users with unfinished messages. */
  get users(): number {
    return this.#lanes.size;
  }

  /** Messages that wait in memory. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The memory that they take, in bytes. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Retries in memory that wait for an earlier one of their user. */
  get next(): number {
    return this.#next;
  }

  /** Messages in the store that wait for an earlier one of their user, not for a time. */
  get behind(): number {
    return this.#behind;
  }

  /** Adds a message of the log to its lane: it may start, waits in memory if it may, or has to be stored. */
  join(lane: number, work: T, mayWait = true): "start" | "wait" | "store" {
    const at = this.#lanes.get(lane);
    if (at === undefined) {
      this.#fly(lane, this.#offsetOf(work), [], { last: undefined, count: 0 });
      return "start";
    }
    if (at.kind !== "in_flight" || at.behind.last !== undefined || !mayWait) return "store";
    at.waiting.push(work);
    this.#waiting += 1;
    this.#waitingBytes += this.#bytesOf(work);
    return "wait";
  }

  /** Takes all messages that wait in memory, by lane, to store them. */
  takeWaiting(): readonly (readonly [lane: number, works: readonly T[]])[] {
    if (this.#waiting === 0) return [];
    return [...this.#lanes].flatMap(([lane, at]) => {
      const works = this.#takeWaiting(at);
      return works.length === 0 ? [] : [[lane, works] as const];
    });
  }

  /** A message that was never sent is handed to the store, behind an earlier one of its lane. */
  stored(lane: number, offset: Offset): void {
    const at = this.#lanes.get(lane);
    if (at !== undefined) this.#add(at.behind, offset, 1);
  }

  /** The message failed and waits in the store for its time. Returns the lane's waiting messages, which have to be stored too. */
  failed(lane: number, offset: Offset): readonly T[] {
    const at = this.#lanes.get(lane);
    // Others may be in flight, from before the order counted.
    if (at !== undefined && firstOf(at) !== offset) {
      this.#add(at.behind, offset, 1);
      return this.#takeWaiting(at);
    }
    const waiting = at === undefined ? [] : this.#takeWaiting(at);
    if (at !== undefined) this.#dropNext(at);
    this.#lanes.set(lane, {
      kind: "blocked",
      first: offset,
      behind: at?.behind ?? { last: undefined, count: 0 },
    });
    return waiting;
  }

  /** Whether a retry is the first of its lane. If so, it is in flight from then on. */
  resume(lane: number, offset: Offset): boolean {
    const at = this.#lanes.get(lane);
    if (at === undefined) this.#fly(lane, offset, [], { last: undefined, count: 0 });
    else if (firstOf(at) !== offset) return false;
    else if (at.kind === "blocked") this.#fly(lane, offset, [], at.behind);
    return true;
  }

  /** A retry was not the first of its lane and goes back to the store. `isKnown`: it was in its lane before. */
  putBack(lane: number, offset: Offset, isKnown: boolean): void {
    const at = this.#lanes.get(lane);
    if (at !== undefined) this.#add(at.behind, offset, isKnown ? 0 : 1);
  }

  /** A lane of the store, after a start or when the order begins to count. Returns waiting messages, which have to be stored too. */
  restore({ lane, first, last, count }: StoredLane): readonly T[] {
    const at = this.#lanes.get(lane);
    if (at?.kind === "looking") {
      this.#add(at.behind, last, 0);
      return [];
    }
    // One that just failed may not be stored yet.
    const known = at === undefined ? first.offset : (firstOf(at) ?? first.offset);
    const begin = at?.kind === "in_flight" || known < first.offset ? known : first.offset;
    const others = begin >= first.offset && begin <= last ? count - 1 : count;
    const behind = at?.behind ?? { last: undefined, count: 0 };
    this.#count(behind, others - behind.count);
    behind.last = others === 0 ? undefined : last === begin ? first.offset : last;
    if (at?.kind === "in_flight") return this.#takeWaiting(at);
    this.#lanes.set(lane, { kind: "blocked", first: begin, behind });
    return [];
  }

  /** The lane whose first message has this offset, for a message that is itself gone. */
  laneAt(offset: Offset): number | undefined {
    for (const [lane, at] of this.#lanes) if (firstOf(at) === offset) return lane;
    return undefined;
  }

  /**
   * Call this before a user's message joins. If the user was deleted, the message that blocked the lane is gone from the store. Returns
   * whether the store has to be asked what is left.
   */
  dropGone(lane: number, isGone: (offset: Offset) => boolean): boolean {
    const at = this.#lanes.get(lane);
    if (at?.kind !== "blocked" || !isGone(at.first)) return false;
    // A deletion removes all messages before it.
    if (at.behind.last === undefined || isGone(at.behind.last)) {
      this.#remove(lane, at);
      return false;
    }
    this.#lanes.set(lane, { kind: "looking", upTo: at.behind.last, behind: at.behind });
    return true;
  }

  /** Removes a finished message. Returns whose turn it is if that was the first of its lane. */
  leave(lane: number, offset: Offset): Turn<T> | undefined {
    const at = this.#lanes.get(lane);
    if (at === undefined) return undefined;
    if (firstOf(at) !== offset) {
      this.#discard(at, offset);
      return undefined;
    }
    const { waiting, next } = at.kind === "in_flight" ? at : { waiting: [], next: [] };
    const work = waiting.shift();
    if (work !== undefined) {
      this.#waiting -= 1;
      this.#waitingBytes -= this.#bytesOf(work);
      this.#fly(lane, this.#offsetOf(work), waiting, at.behind);
      return { kind: "start", work };
    }
    const retry = next.shift();
    if (retry !== undefined) {
      this.#next -= 1;
      this.#flyStored(lane, retry.offset, next, at.behind);
      return { kind: "resume", retry };
    }
    if (at.behind.last === undefined) {
      this.#remove(lane, at);
      return undefined;
    }
    this.#lanes.set(lane, { kind: "looking", upTo: at.behind.last, behind: at.behind });
    return { kind: "look" };
  }

  /** How many retries to ask the store for. They count as in memory until `found` or `release`. */
  reserve(): number {
    const limit = Math.min(PAGE, Math.max(1, MAX_NEXT - this.#next));
    this.#next += limit;
    return limit;
  }

  /** The store could not be asked. */
  release(reserved: number): void {
    this.#next -= reserved;
  }

  /** The first retries of the lane, of `reserved` asked for. None: nothing is left, or it is still on its way to the store. */
  found(lane: number, retries: readonly Retry[], reserved: number): Turn<T> | undefined {
    this.#next -= reserved;
    const at = this.#lanes.get(lane);
    if (at?.kind !== "looking") return undefined;
    const [retry, ...next] = retries;
    if (retry !== undefined) {
      this.#next += next.length;
      this.#flyStored(lane, retry.offset, next, at.behind);
      return { kind: "resume", retry };
    }
    if (at.behind.last === at.upTo) {
      this.#remove(lane, at);
      return undefined;
    }
    this.#lanes.set(lane, { ...at, upTo: at.behind.last });
    return { kind: "look" };
  }

  /** The latest message of the lane that is, or will be, in the store. */
  lastOf(lane: number): Offset | undefined {
    return this.#lanes.get(lane)?.behind.last;
  }

  isFirst(lane: number, offset: Offset): boolean {
    const at = this.#lanes.get(lane);
    return at !== undefined && firstOf(at) === offset;
  }

  isLooking(lane: number): boolean {
    return this.#lanes.get(lane)?.kind === "looking";
  }

  #fly(lane: number, offset: Offset, waiting: T[], behind: Behind, next: Retry[] = []): void {
    this.#lanes.set(lane, { kind: "in_flight", offset, waiting, next, behind });
  }

  #flyStored(lane: number, offset: Offset, next: Retry[], behind: Behind): void {
    this.#count(behind, -1);
    if (behind.last === offset) {
      this.#count(behind, -behind.count);
      behind.last = undefined;
    }
    this.#fly(lane, offset, [], behind, next);
  }

  #add(behind: Behind, offset: Offset, count: number): void {
    if (behind.last === undefined || offset > behind.last) behind.last = offset;
    this.#count(behind, count);
  }

  #count(behind: Behind, change: number): void {
    const count = Math.max(0, behind.count + change);
    this.#behind += count - behind.count;
    behind.count = count;
  }

  /** A message in the store was ended, by somebody who discarded it. */
  #discard(at: Lane<T>, offset: Offset): void {
    if (at.behind.last === undefined || offset > at.behind.last) return;
    this.#count(at.behind, -1);
    if (at.kind !== "in_flight") return;
    const index = at.next.findIndex((retry) => retry.offset === offset);
    if (index < 0) return;
    at.next.splice(index, 1);
    this.#next -= 1;
  }

  #takeWaiting(at: Lane<T>): readonly T[] {
    if (at.kind !== "in_flight") return [];
    const waiting = at.waiting.splice(0);
    this.#waiting -= waiting.length;
    for (const work of waiting) this.#waitingBytes -= this.#bytesOf(work);
    return waiting;
  }

  /** The retries are in the store still. */
  #dropNext(at: Lane<T>): void {
    if (at.kind === "in_flight") this.#next -= at.next.splice(0).length;
  }

  #remove(lane: number, at: Lane<T>): void {
    this.#count(at.behind, -at.behind.count);
    this.#lanes.delete(lane);
  }
}

function firstOf<T>(at: Lane<T>): Offset | undefined {
  if (at.kind === "looking") return undefined;
  return at.kind === "blocked" ? at.first : at.offset;
}
