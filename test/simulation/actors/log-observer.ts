import type { Offset, Retry } from "@sluice/event-log";
import type { MemoryEngines } from "../../../packages/event-log/test/memory-engine/open-memory-engines.js";
import { type EntryCall, outcomesIn, readEntry } from "../model/log-entries.js";
import type { World } from "../world/world.js";
import type { History, StoredDeliveries } from "./history.js";

/**
 * Notes what the log of a cluster says, entry by entry, as they are appended. It decides for itself which entries count: those of the
 * session that took over last, each number once, in order. The product's own rule is not asked.
 */
export class LogObserver {
  readonly #engines: MemoryEngines;
  readonly #world: World;
  readonly #history: History;
  /** Called for the first entry of each session, before it counts. */
  readonly #onTakeover: (node: string) => void;
  /** When each entry was appended. */
  readonly times = new Map<number, number>();
  #seen = 0;
  #session = "";
  #number = 0;
  #node = "";

  constructor(engines: MemoryEngines, world: World, history: History, onTakeover: (node: string) => void) {
    this.#engines = engines;
    this.#world = world;
    this.#history = history;
    this.#onTakeover = onTakeover;
    engines.log.onAppend(() => this.#look());
  }

  #look(): void {
    for (let entry = this.#engines.log.next(this.#seen); entry !== undefined; ) {
      this.#seen = entry.sequence;
      this.#observe(entry.sequence, entry.data);
      entry = this.#engines.log.next(this.#seen);
    }
  }

  #observe(sequence: number, data: Uint8Array): void {
    this.times.set(sequence, this.#world.elapsedMs);
    const { session, number, calls } = readEntry(data);
    const [first] = calls;
    const takesOver = first?.operation === "takeover" && session !== this.#session;
    if (takesOver) {
      this.#node = String(first.request.node);
      this.#world.note(`entry ${sequence}: ${this.#node} takes over`);
      this.#onTakeover(this.#node);
    } else if (session !== this.#session || number !== this.#number + 1) {
      this.#world.note(`entry ${sequence} of ${session} does not count`);
      return;
    }
    this.#session = session;
    this.#number = number;
    const text = Buffer.from(data).toString("latin1");
    this.#history.written.push({ text, atMs: this.#world.elapsedMs });
    this.#world.note(`entry ${sequence}: ${calls.map(({ operation }) => operation).join(", ")}`);
    for (const call of calls) this.#noteCall(call);
  }

  #noteCall(call: EntryCall): void {
    const atMs = this.#world.elapsedMs;
    const { stored, runs } = this.#history;
    const { operation, request } = call;
    if (operation === "retryNow") noteRetryNow(stored, request as unknown as RetryNow, atMs);
    if (operation !== "settle") return;
    noteSettlement(this.#history, call, runs.findLastIndex(({ node }) => node === this.#node) + 1, atMs);
  }
}

/** Notes a `settle` that counts. */
export function noteSettlement({ stored }: History, call: EntryCall, run: number, atMs: number): void {
  const consumerId = String(call.request.consumerId);
  for (const { offset, state } of outcomesIn(call)) stored.addOutcome(consumerId, offset, { state, atMs });
  for (const { offset, rounds, doneUrls } of call.request.retries as readonly Retry[]) {
    if (rounds > 0) stored.addRetry(consumerId, offset, run, atMs);
    for (const url of doneUrls) stored.addDone(consumerId, offset, url, atMs);
  }
}

interface RetryNow {
  readonly consumerId: string;
  readonly offsets: readonly Offset[];
  readonly states: readonly string[];
}

/** The answer is not in the log: it says which of the messages are in one of the states. */
function noteRetryNow(
  stored: StoredDeliveries,
  { consumerId, offsets, states }: RetryNow,
  atMs: number,
): void {
  for (const offset of offsets) {
    const outcomes = stored.outcomesOf(consumerId, offset);
    const hasEnded = outcomes.length > stored.replaysOf(consumerId, offset).length;
    const state = hasEnded ? outcomes.at(-1)?.state : "pending";
    if (states.includes(state ?? "pending")) stored.addRequeue(consumerId, offset, atMs);
  }
}
