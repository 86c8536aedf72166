import { hash } from "node:crypto";
import { type CancelTimer, type Clock, earlyEnd } from "@sluice/resilience";
import type { BatchControl, Fixed, MadeWith, OutgoingMessage, Round, RoundOutcome } from "../destination.js";

export interface BatchesOptions {
  readonly clock: Clock;
  readonly maxMessages: number;
  /** How long the first message waits for others. */
  readonly maxAgeMs: number;
  /** Whether a message is sent alone, after everything before it. Default: none is. */
  readonly isAlone?: (message: OutgoingMessage) => boolean;
  /** Sends a batch once, and records the attempts. Resolves with an outcome for each item, and never rejects. */
  readonly send: (batch: GatheredBatch) => Promise<readonly RoundOutcome[]>;
}

export interface GatheredBatch {
  /** No other batch of the destination has it. */
  readonly id: string;
  readonly range: BatchRange;
  /** In the order of the log. */
  readonly items: readonly Item[];
}

/** The positions of the first and the last message. */
export interface BatchRange {
  readonly from: number;
  readonly to: number;
}

export interface Item {
  readonly message: OutgoingMessage;
  readonly round: Round;
}

type Named = Pick<GatheredBatch, "id" | "range">;

interface Waiting extends Item {
  readonly end: (outcome: RoundOutcome) => void;
}

interface Lane {
  readonly waiting: Waiting[];
  /** When the first of them came. */
  sinceMs: number;
}

/** Messages of the retry queue do not wait for a batch to fill. */
const PROMPT_MS = 200;

/**
 * Gathers messages into batches, and sends one at a time. New messages and those of the retry queue make batches of their own. A batch is
 * stored before it is sent, with the results of the one before. If it fails as a whole, and after a crash, exactly this batch comes again,
 * and is sent before everything else: what it sent may have arrived, and under the same name it adds nothing.
 */
export class Batches implements BatchControl {
  readonly #options: BatchesOptions;
  readonly #fresh: Lane = { waiting: [], sinceMs: 0 };
  readonly #again: Lane = { waiting: [], sinceMs: 0 };
  /**
   * - `gathering`: a timer starts the next batch. `sending`: one waits for its turn, is under way, or its results are being handed over.
   * - `draining`: like them, but nothing waits for more messages or for the store. The end is `closed`.
   */
  #state: "gathering" | "sending" = "gathering";
  #mode: "usual" | "draining" | "closed" = "usual";
  #cancelTimer: CancelTimer | undefined;
  #isFull = false;
  /** A batch that is sent again, as it was. Its messages come until `full`. */
  #repeated: (Named & { readonly waiting: Waiting[] }) | undefined;
  readonly #leaving = earlyEnd<undefined>();

  constructor(options: BatchesOptions) {
    this.#options = options;
  }

  deliver(message: OutgoingMessage, round: Round): Promise<RoundOutcome> {
    if (this.#mode === "closed") return Promise.resolve(ABORTED);
    const { promise, resolve: end } = Promise.withResolvers<RoundOutcome>();
    const item: Waiting = { message, round, end };
    if (this.#repeated === undefined) this.#gather(item);
    else this.#repeated.waiting.push(item);
    return promise;
  }

  #gather(item: Waiting): void {
    const { message, round } = item;
    const lane = round.isAgain ? this.#again : this.#fresh;
    if (lane.waiting.length === 0) lane.sinceMs = this.#options.clock.monotonic();
    lane.waiting.push(item);
    this.#isFull = false;
    const { maxMessages } = this.#options;
    // Only then, because what one message became comes in one turn.
    if (lane.waiting.length === 1 || lane.waiting.length === maxMessages || this.#isAlone(message))
      queueMicrotask(() => this.#check());
  }

  full(): void {
    const repeated = this.#repeated;
    if (repeated !== undefined) {
      this.#repeated = undefined;
      if (repeated.waiting.length > 0) void this.#sendItems(repeated, repeated.waiting.sort(inOrder));
      return;
    }
    if (this.#isFull) return;
    this.#isFull = true;
    this.#check();
  }

  repeat(id: string, range: BatchRange): void {
    this.#repeated = { id, range, waiting: [] };
  }

  drain(): void {
    if (this.#mode === "usual") this.#mode = "draining";
    this.#check();
  }

  /** Ends everything as aborted. The sender has to end what is under way. */
  close(): void {
    this.#mode = "closed";
    this.#cancelTimer?.();
    this.#leaving.end(undefined);
    const repeated = this.#repeated?.waiting ?? [];
    for (const waiting of [this.#fresh.waiting, this.#again.waiting, repeated])
      for (const { end } of waiting.splice(0)) end(ABORTED);
  }

  /** Starts a batch, or sets the timer for it. */
  #check(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#state === "sending" || this.#mode === "closed") return;
    const nowMs = this.#options.clock.monotonic();
    const [first, second] = [this.#again, this.#fresh].sort((one, other) => one.sinceMs - other.sinceMs);
    const lane = [first, second].find((one) => one !== undefined && this.#dueAtMs(one) <= nowMs);
    if (lane !== undefined) {
      void this.#send(lane);
      return;
    }
    const dueAtMs = Math.min(this.#dueAtMs(this.#again), this.#dueAtMs(this.#fresh));
    if (dueAtMs < Number.POSITIVE_INFINITY)
      this.#cancelTimer = this.#options.clock.after(dueAtMs - nowMs, () => this.#check());
  }

  #dueAtMs(lane: Lane): number {
    const { waiting, sinceMs } = lane;
    const { maxMessages, maxAgeMs } = this.#options;
    if (waiting.length === 0) return Number.POSITIVE_INFINITY;
    if (this.#mode === "draining") return sinceMs;
    const isComplete =
      this.#isFull || waiting.length >= maxMessages || waiting.some(({ message }) => this.#isAlone(message));
    if (isComplete) return sinceMs;
    return sinceMs + (lane === this.#again ? PROMPT_MS : maxAgeMs);
  }

  #isAlone(message: OutgoingMessage): boolean {
    return this.#options.isAlone?.(message) ?? false;
  }

  async #send(lane: Lane): Promise<void> {
    this.#state = "sending";
    let items: readonly Waiting[] = [];
    let named: Named | undefined;
    const choose = (): ReturnType<Choose> => {
      items = this.#take(lane);
      const [first] = items;
      if (first === undefined) return undefined;
      named = nameOf(items, lane === this.#again);
      return {
        ...{ id: named.id, offsets: items.map(({ message }) => message.offset) },
        settings: first.round.settings ?? NO_SETTINGS,
      };
    };
    const fixed = await this.#fix(lane, choose);
    if (fixed === "postponed") items = this.#take(lane);
    if (fixed === "fixed" && named !== undefined) await this.#sendItems(named, items);
    else for (const { end } of items) end(fixed === "postponed" ? POSTPONED : ABORTED);
    // First the results are handed over: each of them may let another message come.
    setImmediate(() => {
      this.#state = "gathering";
      lane.sinceMs = this.#options.clock.monotonic();
      this.#check();
    });
  }

  /** Resolves when it is stored what is sent. Undefined if this is closed before. */
  async #fix(lane: Lane, choose: Choose): Promise<Fixed | undefined> {
    const [first] = lane.waiting;
    if (first?.round.fix !== undefined) return this.#leaving.within(first.round.fix(choose));
    return choose() === undefined ? "nothing" : "fixed";
  }

  async #sendItems({ id, range }: Named, items: readonly Waiting[]): Promise<void> {
    const outcomes = await this.#options.send({ id, range, items });
    items.forEach(({ end }, index) => {
      end(outcomes[index] ?? ABORTED);
    });
  }

  /** Up to the limit, up to a message that is sent alone, and up to a change of settings. In the order of the log. */
  #take({ waiting }: Lane): readonly Waiting[] {
    const alone = waiting.findIndex(({ message }) => this.#isAlone(message));
    const end = alone < 0 ? this.#options.maxMessages : Math.max(alone, 1);
    const [first] = waiting;
    const other = waiting.findIndex(({ round }) => round.settings !== first?.round.settings);
    const limit = Math.min(end, this.#options.maxMessages, other < 0 ? waiting.length : other);
    const taken = waiting.splice(0, betweenMessages(waiting, limit));
    // What is not fixed yet is decided anew after a change. A transformation takes its time, so messages do not come in order.
    const [outdated, kept] = partition(taken, ({ round }) => round.isOutdated?.() === true);
    for (const { end: postpone } of outdated) postpone(POSTPONED);
    return kept.sort(inOrder);
  }
}

type Choose = Parameters<NonNullable<Round["fix"]>>[0];

/** Of a round that nobody stores. */
const NO_SETTINGS: MadeWith = { chain: () => ({ ids: [], documents: [] }), toJSON: () => null };

/**
 * Where to cut instead, so that what a transformation made of one message stays together: its result is only known, and stored, for all
 * of it. Only if there is nothing before it, the batch is longer than the limit.
 */
function betweenMessages(items: readonly Item[], end: number): number {
  const offsetAt = (index: number): number | undefined => items[index]?.message.offset;
  const isWithin = (at: number): boolean => at < items.length && offsetAt(at) === offsetAt(at - 1);
  let before = end;
  while (before > 0 && isWithin(before)) before -= 1;
  if (before > 0) return before;
  let after = end;
  while (isWithin(after)) after += 1;
  return after;
}

const ABORTED: RoundOutcome = { kind: "aborted" };
const POSTPONED: RoundOutcome = { kind: "postponed" };

/** What one message became keeps its order. */
function inOrder(one: Item, other: Item): number {
  return one.message.offset - other.message.offset;
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  const second: T[] = [];
  const first = all.filter((one) => isFirst(one) || !second.push(one));
  return [first, second];
}

/** New messages are named by their range. The retry queue has no order, so a batch of it is named by all its messages too. */
function nameOf(items: readonly Item[], isAgain: boolean): Named {
  const [from, to] = [items[0]?.message.offset ?? 0, items.at(-1)?.message.offset ?? 0];
  const id = [from, to].map((position) => String(position).padStart(16, "0")).join("-");
  if (!isAgain) return { id, range: { from, to } };
  const attempts = items.map(({ message, round }) => `${message.messageId} ${round.number}`);
  return { id: `${id}-again-${hash("sha256", attempts.join("\n")).slice(0, 12)}`, range: { from, to } };
}
