import { hash } from "node:crypto";
import {
  type BackoffOptions,
  backoffDelayMs,
  type CancelTimer,
  type Clock,
  earlyEnd,
} from "@sluice/resilience";
import type { BatchControl, OutgoingMessage, Round, RoundOutcome } from "../destination.js";

export interface BatchesOptions {
  readonly clock: Clock;
  readonly maxMessages: number;
  /** How long the first message waits for others. */
  readonly maxAgeMs: number;
  /** Whether a message is sent alone, after everything before it. Default: none is. */
  readonly isAlone?: (message: OutgoingMessage) => boolean;
  /** Whether a batch is stored before it is sent, so that it is the same after a crash. Default: true. */
  readonly isFixed?: boolean;
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

/** Messages of the retry queue, and those that probe a destination, do not wait for a batch to fill. */
const PROMPT_MS = 200;
/**
 * A batch that fails as a whole is sent again as it is, because what it sent may have arrived: under the same name, it adds nothing. After
 * this time, its messages go to the retry queue, where they are seen, and may be retried or discarded by hand.
 */
const HOLD_MS = 60_000;
const HOLD_BACKOFF: BackoffOptions = { initialMs: 1_000, maxMs: 20_000, jitter: "equal" };

/**
 * Gathers messages into batches, and sends one at a time. New messages and those of the retry queue make batches of their own. A batch is
 * stored before it is sent, with the results of the one before: after a crash, exactly the one that was under way is repeated.
 */
export class Batches implements BatchControl {
  readonly #options: BatchesOptions;
  readonly #fresh: Lane = { waiting: [], sinceMs: 0 };
  readonly #again: Lane = { waiting: [], sinceMs: 0 };
  /**
   * - `gathering`: a timer starts the next batch. `sending`: one is under way, or its results are being handed over.
   * - `draining`: like them, but nothing waits for more messages or for the store. The end is `closed`.
   */
  #state: "gathering" | "sending" = "gathering";
  #mode: "usual" | "draining" | "closed" = "usual";
  #cancelTimer: CancelTimer | undefined;
  #isFull = false;
  /** The last batch failed as a whole. */
  #isFailing = false;
  /** A batch that is sent as it was before the start. Its messages come until `full`. */
  #repeated: Named | undefined;
  readonly #closing = new AbortController();
  readonly #leaving = earlyEnd<undefined>();

  constructor(options: BatchesOptions) {
    this.#options = options;
  }

  deliver(message: OutgoingMessage, round: Round): Promise<RoundOutcome> {
    if (this.#mode === "closed") return Promise.resolve(ABORTED);
    const { promise, resolve: end } = Promise.withResolvers<RoundOutcome>();
    const lane = round.isAgain && this.#repeated === undefined ? this.#again : this.#fresh;
    if (lane.waiting.length === 0) lane.sinceMs = this.#options.clock.monotonic();
    lane.waiting.push({ message, round, end });
    this.#isFull = false;
    const { maxMessages } = this.#options;
    // Only then, because what one message became comes in one turn.
    if (lane.waiting.length === 1 || lane.waiting.length === maxMessages || this.#isAlone(message))
      queueMicrotask(() => this.#check());
    return promise;
  }

  full(): void {
    if (this.#isFull) return;
    this.#isFull = true;
    this.#check();
  }

  repeat(id: string, range: BatchRange): void {
    this.#repeated = { id, range };
    this.#isFull = false;
  }

  drain(): void {
    if (this.#mode === "usual") this.#mode = "draining";
    this.#check();
  }

  /** Ends everything as aborted. The sender has to end what is under way. */
  close(): void {
    this.#mode = "closed";
    this.#cancelTimer?.();
    this.#closing.abort();
    this.#leaving.end(undefined);
    for (const { waiting } of [this.#fresh, this.#again])
      for (const { end } of waiting.splice(0)) end(ABORTED);
  }

  /** Starts a batch, or sets the timer for it. */
  #check(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#state === "sending" || this.#mode === "closed") return;
    if (this.#repeated !== undefined) {
      if (!this.#isFull) return;
      if (this.#fresh.waiting.length > 0) void this.#send(this.#fresh);
      else this.#repeated = undefined;
      return;
    }
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
    return sinceMs + (lane === this.#again || this.#isFailing ? PROMPT_MS : maxAgeMs);
  }

  #isAlone(message: OutgoingMessage): boolean {
    return this.#options.isAlone?.(message) ?? false;
  }

  async #send(lane: Lane): Promise<void> {
    this.#state = "sending";
    const repeated = this.#repeated;
    this.#repeated = undefined;
    const items = repeated === undefined ? this.#take(lane) : lane.waiting.splice(0).sort(inOrder);
    if (items.length > 0) await this.#sendItems(items, lane, repeated);
    // First the results are handed over: each of them may let another message come.
    setImmediate(() => {
      this.#state = "gathering";
      lane.sinceMs = this.#options.clock.monotonic();
      this.#check();
    });
  }

  async #sendItems(items: readonly Waiting[], lane: Lane, repeated: Named | undefined): Promise<void> {
    const named = repeated ?? nameOf(items, lane === this.#again);
    const ended = repeated === undefined ? await this.#fix(named.id, items) : () => {};
    const outcomes =
      ended === undefined ? items.map(() => ABORTED) : await this.#sendUntilKnown({ ...named, items }, lane);
    this.#isFailing = isDown(outcomes);
    if (!outcomes.some(({ kind }) => kind === "aborted")) ended?.();
    items.forEach(({ end }, index) => {
      end(outcomes[index] ?? ABORTED);
    });
  }

  /** Resolves when it is stored what is sent, with what to call at its end. Undefined if this is closed before. */
  async #fix(id: string, items: readonly Item[]): Promise<(() => void) | undefined> {
    const [first] = items;
    const { isFixed = true } = this.#options;
    if (!isFixed || first?.round.fix === undefined) return () => {};
    const offsets = items.map(({ message }) => message.offset);
    return this.#leaving.within(first.round.fix(id, offsets));
  }

  /** Up to the limit, up to a message that is sent alone, and up to a change of settings. In the order of the log. */
  #take({ waiting }: Lane): readonly Waiting[] {
    const alone = waiting.findIndex(({ message }) => this.#isAlone(message));
    const end = alone < 0 ? this.#options.maxMessages : Math.max(alone, 1);
    const [first] = waiting;
    const other = waiting.findIndex(({ round }) => round.settings !== first?.round.settings);
    const limit = Math.min(end, this.#options.maxMessages, other < 0 ? waiting.length : other);
    const taken = waiting.splice(0, betweenMessages(waiting, limit));
    // A transformation takes its time, so messages do not come in order. What is not fixed yet is decided anew after a deletion.
    const [deleted, kept] = partition(taken, ({ round }) => round.isOfDeleted?.() === true);
    for (const { end: postpone } of deleted) postpone({ kind: "postponed" });
    return kept.sort(inOrder);
  }

  async #sendUntilKnown(
    { items, ...named }: Named & { readonly items: readonly Waiting[] },
    lane: Lane,
  ): Promise<readonly RoundOutcome[]> {
    const { clock, send } = this.#options;
    const untilMs = clock.monotonic() + (this.#isFailing || lane === this.#again ? 0 : HOLD_MS);
    for (let attempt = 1; ; attempt++) {
      const outcomes = await send({ ...named, items });
      if (!isDown(outcomes) || !outcomes.every(isSameAgain) || this.#mode !== "usual") return outcomes;
      const asked = outcomes.map((outcome) => (outcome.kind === "retry" ? (outcome.retryAfterMs ?? 0) : 0));
      const waitMs = Math.max(backoffDelayMs(attempt, HOLD_BACKOFF, clock.random()), ...new Set(asked));
      if (clock.monotonic() + waitMs > untilMs) return outcomes;
      items.forEach(({ round }, index) => {
        // Each counts as an attempt of its messages. One of them tells that the destination fails.
        round.repeat(index === 0 ? outcomes[0] : undefined);
      });
      const isOver = await clock.sleep(waitMs, this.#closing.signal).then(
        () => false,
        () => true,
      );
      if (isOver) return items.map(() => ABORTED);
    }
  }
}

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

/** What one message became keeps its order. */
function inOrder(one: Item, other: Item): number {
  return one.message.offset - other.message.offset;
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  const second: T[] = [];
  const first = all.filter((one) => isFirst(one) || !second.push(one));
  return [first, second];
}

/** Whether nothing of it arrived, as far as is known. */
function isDown(outcomes: readonly RoundOutcome[]): boolean {
  return outcomes.every((outcome) => outcome.kind === "retry" && outcome.alive !== true);
}

/** Whether a repetition goes to the same targets: none is finished with the message. */
function isSameAgain(outcome: RoundOutcome): boolean {
  return outcome.kind === "retry" && outcome.doneUrls.length === 0;
}

/** New messages are named by their range. The retry queue has no order, so a batch of it is named by all its messages too. */
function nameOf(items: readonly Item[], isAgain: boolean): Named {
  const [from, to] = [items[0]?.message.offset ?? 0, items.at(-1)?.message.offset ?? 0];
  const id = [from, to].map((position) => String(position).padStart(16, "0")).join("-");
  if (!isAgain) return { id, range: { from, to } };
  const attempts = items.map(({ message, round }) => `${message.messageId} ${round.number}`);
  return { id: `${id}-again-${hash("sha256", attempts.join("\n")).slice(0, 12)}`, range: { from, to } };
}
