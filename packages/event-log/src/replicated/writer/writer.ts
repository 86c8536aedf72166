import type { Clock } from "@sluice/resilience";
import { StorageUnavailable } from "../../ports/errors.js";
import type { AppliedEntry, CallAnswer } from "../../sqlite/calls/operations.js";
import { errorOf } from "../../sqlite/calls/refusal.js";
import { type EncodedCall, encodeCall, type LoggedCall } from "../../sqlite/replica/call-codec.js";
import {
  decodeEntry,
  ENTRY_OVERHEAD_BYTES,
  type EntryId,
  encodeEntry,
  entryBytes,
  partsOf,
} from "../../sqlite/replica/entry.js";
import { EntriesTrimmed, type LogAppend, type ReplicatedLog } from "../engine.js";
import { afterAnswer } from "./after-answer.js";
import { foundEntry } from "./found-entry.js";
import { nextGroup, type WaitingCall } from "./next-group.js";
import { readToEnd } from "./read-log.js";

/** Entries under way at most. Calls that arrive meanwhile share the next one: few, large entries are cheaper than many small ones. */
const MOST_UNDER_WAY = 3;
/** An entry of this size takes no more calls. */
const ENTRY_BYTES = 512 * 1024;
/** What a part has besides its bytes. */
const PART_OVERHEAD_BYTES = 256;
/** How long after an append without an answer the next try begins, in milliseconds. */
const AGAIN_AFTER_MS = 100;

export interface WriterOptions {
  readonly log: ReplicatedLog;
  readonly clock: Clock;
  readonly session: string;
  /** The sequence of the last entry that the copy has. */
  readonly last: number;
  /** The number of the session's last entry. */
  readonly number: number;
  /** Applies an entry to the copy. Called in the order of the sequences, without waiting for the one before. */
  apply(sequence: number, data: Uint8Array<ArrayBuffer>, isAnswered: boolean): Promise<AppliedEntry>;
  /** The writer has ended: another process owns the log, the log is full, or the copy has failed. */
  onEnded(reason: string): void;
}

/** A call that waits for its answer. */
interface Waiting extends WaitingCall {
  readonly encoded: EncodedCall;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** An entry that was sent to the log. */
interface Flight extends EntryId {
  readonly calls: readonly Waiting[];
  readonly data: Uint8Array<ArrayBuffer>;
  expected: number;
  answer: Promise<LogAppend>;
}

/**
 * - `open`: takes calls.
 * - `closing`: entered by `close`. Takes no calls, and finishes those it has.
 * - `ended`: entered by a failure, or from `closing`. Final.
 */
type State =
  | { readonly kind: "open" }
  | { readonly kind: "closing"; readonly ended: Promise<void>; readonly finished: () => void }
  | { readonly kind: "ended"; readonly reason: string };

/** Appends the owner's writes to the log, and answers them when they are in the log and in the copy. */
export class Writer {
  readonly #options: WriterOptions;
  readonly #ended = new AbortController();
  #state: State = { kind: "open" };
  #queue: Waiting[] = [];
  #flights: Flight[] = [];
  /** Entries that the copy has not answered. */
  #applying = 0;
  /** The sequence of the last entry that is settled. */
  #last: number;
  #number: number;
  #isScheduled = false;
  /** Whether `#settleAll` runs. */
  #isRunning = false;
  #isSettling = false;
  #newest: Promise<unknown> = Promise.resolve();

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#last = options.last;
    this.#number = options.number;
  }

  /** Resolves with the call's answer. Rejects with a `StoreError`; `storage_unavailable`: it is not known whether the call was kept. */
  add(call: LoggedCall, isAlone = false): Promise<unknown> {
    if (this.#state.kind !== "open") return Promise.reject(new StorageUnavailable(this.#refusal));
    const encoded = encodeCall(call);
    const most = this.#options.log.maxEntryBytes - ENTRY_OVERHEAD_BYTES;
    if (entryBytes(encoded) <= most) return this.#enqueue(encoded, isAlone);
    const parts = partsOf(encoded, most - PART_OVERHEAD_BYTES);
    const answers = parts.map((request) => this.#enqueue(encodeCall({ operation: "part", request }), true));
    // The last part stands for the call. If one is rejected, all are.
    for (const answer of answers) answer.catch(() => {});
    return answers.at(-1) ?? Promise.resolve();
  }

  #enqueue(encoded: EncodedCall, isAlone: boolean): Promise<unknown> {
    const bytes = entryBytes(encoded);
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#queue.push({ encoded, bytes, isAlone, resolve, reject });
    });
    this.#newest = answer.catch(() => {});
    this.#schedule();
    return answer;
  }

  get #refusal(): string {
    return this.#state.kind === "ended" ? this.#state.reason : "the store is closed";
  }

  /** Resolves when every call added so far is answered. Undefined: they are. */
  get answered(): Promise<unknown> | undefined {
    return this.#isIdle ? undefined : this.#newest;
  }

  get #isIdle(): boolean {
    return this.#queue.length === 0 && this.#flights.length === 0 && this.#applying === 0;
  }

  /**
   * Looks at entries after those that are settled, up to the log's end as it was just read. A writer with calls of its own finds them
   * anyway; without any, it would not notice that another process owns the log.
   */
  async sawEnd(last: number): Promise<void> {
    const isBusy = this.#isRunning || this.#isSettling;
    if (last <= this.#last || isBusy || this.#state.kind !== "open") return;
    await this.#settleByReading();
    this.#launch();
  }

  /** Finishes the calls that it has. */
  async close(): Promise<void> {
    if (this.#state.kind === "closing") return this.#state.ended;
    if (this.#state.kind === "ended") return;
    const { promise: ended, resolve: finished } = Promise.withResolvers<void>();
    this.#state = { kind: "closing", ended, finished };
    this.#finishIfIdle();
    await ended;
  }

  /** Rejects the calls that it has. The log may keep them. */
  end(reason: string): void {
    const state = this.#state;
    if (state.kind === "ended") return;
    this.#state = { kind: "ended", reason };
    this.#ended.abort();
    const waiting = [...this.#flights.flatMap(({ calls }) => calls), ...this.#queue];
    this.#flights = [];
    this.#queue = [];
    for (const { reject } of waiting) reject(new StorageUnavailable(reason));
    if (state.kind === "closing") state.finished();
  }

  #fail(reason: string): void {
    if (this.#state.kind === "ended") return;
    this.end(reason);
    this.#options.onEnded(reason);
  }

  #finishIfIdle(): void {
    if (this.#state.kind !== "closing" || !this.#isIdle) return;
    const { finished } = this.#state;
    this.#state = { kind: "ended", reason: "the store is closed" };
    this.#ended.abort();
    finished();
  }

  /** Calls of one turn of the event loop go into one entry. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#launch();
    });
  }

  #launch(): void {
    while (this.#queue.length > 0 && this.#flights.length < MOST_UNDER_WAY && !this.#isSettling) {
      const calls = this.#nextGroup();
      this.#number += 1;
      const id = { session: this.#options.session, number: this.#number };
      const data = encodeEntry(
        id,
        calls.map(({ encoded }) => encoded),
      );
      const expected = this.#last + this.#flights.length;
      this.#flights.push({ ...id, calls, data, expected, answer: this.#append(data, expected) });
    }
    if (!this.#isRunning) void this.#settleAll();
  }

  #nextGroup(): Waiting[] {
    const most = Math.min(ENTRY_BYTES, this.#options.log.maxEntryBytes - ENTRY_OVERHEAD_BYTES);
    return this.#queue.splice(0, nextGroup(this.#queue, most));
  }

  #append(data: Uint8Array, expected: number): Promise<LogAppend> {
    return this.#options.log
      .append(data, expected)
      .catch((error: unknown): LogAppend => ({ kind: "unknown", reason: String(error) }));
  }

  /** Settles the entries under way, oldest first, until there is none. */
  async #settleAll(): Promise<void> {
    this.#isRunning = true;
    for (let head = this.#flights[0]; head !== undefined; head = this.#flights[0]) {
      const answer = await head.answer;
      if (this.#state.kind === "ended") return;
      const next = afterAnswer(answer, head.expected);
      switch (next.kind) {
        case "accepted":
          this.#accepted(head, head.expected + 1);
          break;
        case "again":
          if (next.delayed) await this.#pause();
          if (this.#ended.signal.aborted) return;
          head.answer = this.#append(head.data, head.expected);
          break;
        case "look":
          await this.#settleByReading();
          break;
        case "give up":
          this.#fail(`the log has no room: ${next.reason}`);
          return;
        default:
          next satisfies never;
      }
      this.#launch();
    }
    this.#isRunning = false;
  }

  #pause(): Promise<void> {
    return this.#options.clock.sleep(AGAIN_AFTER_MS, this.#ended.signal).catch(() => {});
  }

  #accepted(flight: Flight, sequence: number): void {
    this.#flights.shift();
    this.#last = sequence;
    this.#apply(sequence, flight.data, flight.calls);
  }

  #apply(sequence: number, data: Uint8Array<ArrayBuffer>, calls: readonly Waiting[]): void {
    this.#applying += 1;
    this.#options
      .apply(sequence, data, calls.length > 0)
      .then(
        ({ answers }) => {
          for (const [place, call] of calls.entries()) answerCall(call, answers?.[place]);
        },
        (error: unknown) => {
          const reason = `the local copy failed: ${error instanceof Error ? error.message : String(error)}`;
          for (const { reject } of calls) reject(new StorageUnavailable(reason));
          this.#fail(reason);
        },
      )
      .finally(() => {
        this.#applying -= 1;
        this.#finishIfIdle();
      });
  }

  /**
   * Settles everything by what stands in the log. First each entry under way needs a known answer. Then those that the log has are accepted,
   * and the others get new places at its end. `judge` makes all copies ignore entries that arrive at their old places later.
   */
  async #settleByReading(): Promise<void> {
    this.#isSettling = true;
    try {
      for (const flight of this.#flights) await this.#known(flight);
      const entries = await readToEnd(this.#options.log, this.#last, this.#ended.signal);
      for (const { sequence, data } of entries) {
        if (this.#state.kind === "ended") return;
        this.#found(sequence, data);
      }
      for (const [place, flight] of this.#flights.entries()) {
        flight.expected = this.#last + place;
        flight.answer = this.#append(flight.data, flight.expected);
      }
    } catch (error) {
      // Only another owner trims what this one has not read.
      if (error instanceof EntriesTrimmed) this.#fail(REPLACED);
      await this.#pause();
    } finally {
      this.#isSettling = false;
    }
  }

  async #known(flight: Flight): Promise<void> {
    while ((await flight.answer).kind === "unknown") {
      await this.#pause();
      if (this.#ended.signal.aborted) return;
      flight.answer = this.#append(flight.data, flight.expected);
    }
  }

  #found(sequence: number, data: Uint8Array<ArrayBuffer>): void {
    const [head] = this.#flights;
    const found = foundEntry(this.#options.session, head, decodeEntry(data));
    if (found === "own" && head !== undefined) this.#accepted(head, sequence);
    else if (found === "replaced") this.#fail(REPLACED);
    else {
      this.#last = sequence;
      this.#apply(sequence, data, []);
    }
  }
}

const REPLACED = "another process owns the log now";

function answerCall({ resolve, reject }: Waiting, answer: CallAnswer | undefined): void {
  if (answer === undefined) reject(new StorageUnavailable("it is not known whether the call was kept"));
  else if (answer.kind === "done") resolve(answer.answer);
  else reject(errorOf(answer));
}
