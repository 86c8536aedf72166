import type { MemoryEngines, Offset, Retry } from "@sluice/event-log";
import {
  FINAL_STATES,
  OUTCOME,
  type SettleRequest,
} from "../../../packages/event-log/src/sqlite/calls/settle-request.js";
import type { LoggedCall } from "../../../packages/event-log/src/sqlite/replica/call-codec.js";
import { decodeEntry } from "../../../packages/event-log/src/sqlite/replica/entry.js";
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

  #observe(sequence: number, data: Uint8Array<ArrayBuffer>): void {
    this.times.set(sequence, this.#world.elapsedMs);
    const { session, number, calls } = decodeEntry(data);
    const [first] = calls;
    const takesOver = first?.operation === "takeover" && session !== this.#session;
    if (takesOver) {
      this.#node = (first.request as { readonly node: string }).node;
      this.#world.note(`entry ${sequence}: ${this.#node} takes over`);
      this.#onTakeover(this.#node);
    } else if (session !== this.#session || number !== this.#number + 1) {
      this.#world.note(`entry ${sequence} of ${session} does not count`);
      return;
    }
    this.#session = session;
    this.#number = number;
    this.#world.note(`entry ${sequence}: ${calls.map(({ operation }) => operation).join(", ")}`);
    for (const call of calls) this.#noteCall(call);
  }

  #noteCall({ operation, request }: LoggedCall): void {
    const atMs = this.#world.elapsedMs;
    const { stored, runs } = this.#history;
    if (operation === "retryNow") noteRetryNow(stored, request as RetryNow, atMs);
    if (operation !== "settle") return;
    const { consumerId, outcomes, retries } = request as SettleRequest;
    for (let at = 0; at < outcomes.length; at += OUTCOME.size) {
      const state = FINAL_STATES[outcomes[at + OUTCOME.state] ?? 0] ?? "";
      stored.addOutcome(consumerId, outcomes[at + OUTCOME.offset] ?? 0, { state, atMs });
    }
    const run = runs.findLastIndex(({ node }) => node === this.#node) + 1;
    for (const { offset, rounds, doneUrls } of retries as readonly Retry[]) {
      if (rounds > 0) stored.addRetry(consumerId, offset, run);
      for (const url of doneUrls) stored.addDone(consumerId, offset, url, atMs);
    }
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
