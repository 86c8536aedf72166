import type { DatabaseSync } from "node:sqlite";
import type { Delivery, DeliveryQuery, FinalState } from "../../ports/consumers.js";
import type { DeliveryListAnswer, DeliveryListRequest } from "../calls/operations.js";
import { FINAL_STATES } from "../calls/settle-request.js";
import type { ChunkRow } from "../consumers/chunks.js";
import type { Consumer, ConsumerTables } from "../consumers/consumer-tables.js";

/** Maximum number of chunks and rows that one call reads. The next call continues a longer search, so other calls can run between. */
const STEPS_AT_ONCE = 400;

/** The steps that are left in one call. */
interface Budget {
  steps: number;
}

/** A position of a list: the offset of a message, and the id of the last consumer returned for it. */
type Place = NonNullable<DeliveryListAnswer["resumeAt"]>;

/** Lists deliveries in descending order of their messages. */
export class DeliveryList {
  readonly #database: DatabaseSync;
  readonly #tables: ConsumerTables;

  constructor(database: DatabaseSync, tables: ConsumerTables) {
    this.#database = database;
    this.#tables = tables;
  }

  list({ query, pendingBounds, position, tie, limit }: DeliveryListRequest): DeliveryListAnswer {
    const consumers = this.#consumersOf(query);
    const budget = budgetFor(consumers);
    const queries = { wall: query, monotonic: { ...query, ...pendingBounds } };
    const items: Delivery[] = [];
    /** The last candidate that was looked at. */
    let last: Place | undefined;
    for (const { consumer, offset } of this.#candidatesOfAll(consumers, query, position, budget)) {
      // Every call looks at one candidate at least, so a search always ends.
      if (budget.steps <= 0 && last !== undefined) {
        return { items, resumeAt: offset === last.position ? last : { position: offset, tie: "" } };
      }
      if (offset === position && consumer.id <= tie) continue;
      last = { position: offset, tie: consumer.id };
      budget.steps -= 1;
      const delivery = this.#tables.delivery(consumer, offset);
      if (delivery === undefined || !matches(delivery, queries[timesOf(delivery)])) continue;
      items.push(delivery);
      if (items.length >= limit) return { items, resumeAt: last };
    }
    return { items };
  }

  #consumersOf({ consumerId }: DeliveryQuery): Consumer[] {
    if (consumerId !== undefined) {
      const consumer = this.#tables.find(consumerId);
      return consumer === undefined ? [] : [consumer];
    }
    return [...this.#tables.all].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /**
   * Messages that have this state at a consumer, each once, in descending order. Reads only the chunks that have such outcomes. Returns at
   * most `most` offsets. `before` says where the search continues; it is absent when the search is complete.
   */
  offsetsIn(state: FinalState, before: number, most: number): { offsets: number[]; before?: number } {
    const consumers = [...this.#tables.all];
    const budget = budgetFor(consumers);
    const offsets: number[] = [];
    let isBegun = false;
    for (const offset of uniqueDescending(
      consumers.map((consumer) => this.#candidates(consumer, { state }, before - 1, budget)),
    )) {
      // Every call looks at one candidate at least, so a search always ends.
      if (budget.steps <= 0 && isBegun) return { offsets, before: offset + 1 };
      isBegun = true;
      budget.steps -= 1;
      if (!this.#tables.isSettledAs(offset, state)) continue;
      offsets.push(offset);
      if (offsets.length >= most) return { offsets, before: offset };
    }
    return { offsets };
  }

  /** The candidates of all consumers, in descending order; those of one message in the order of `consumers`. */
  *#candidatesOfAll(
    consumers: readonly Consumer[],
    query: DeliveryQuery,
    position: number,
    budget: Budget,
  ): Generator<{ readonly consumer: Consumer; readonly offset: number }, void> {
    const from = Math.min(position, Number.MAX_SAFE_INTEGER);
    const sources = consumers.map((consumer) => this.#candidates(consumer, query, from, budget));
    for (const { source, value } of mergeDescending(sources)) {
      const consumer = consumers[source];
      if (consumer !== undefined) yield { consumer, offset: value };
    }
  }

  /** Offsets at which the consumer may have a delivery that matches the query, each once, in descending order. */
  #candidates(
    consumer: Consumer,
    query: DeliveryQuery,
    from: number,
    budget: Budget,
  ): Generator<number, void> {
    const sources: Generator<number>[] = [];
    if (query.state === undefined || query.state === "pending") {
      sources.push(this.#offsetsOf("retries", consumer, from));
    }
    if (query.state !== "pending") {
      sources.push(this.#offsetsOf("late_outcomes", consumer, from));
      sources.push(this.#offsetsInChunks(consumer, query, from, budget));
    }
    return uniqueDescending(sources);
  }

  // Each search prepares its own statement, because several searches iterate at the same time.
  *#offsetsOf(table: "retries" | "late_outcomes", consumer: Consumer, from: number): Generator<number> {
    const rows = this.#database
      .prepare(`SELECT offset FROM ${table} WHERE consumer = ? AND offset <= ? ORDER BY offset DESC`)
      .iterate(consumer.no, from);
    for (const { offset } of rows) yield offset as number;
  }

  *#offsetsInChunks(
    consumer: Consumer,
    query: DeliveryQuery,
    from: number,
    budget: Budget,
  ): Generator<number, void> {
    const state = query.state === undefined || query.state === "pending" ? "failed" : query.state;
    /** Candidates of the chunks read so far, ascending. Those above the next chunk's `max` can be returned. */
    let waiting: number[] = [];
    for (const chunk of this.#tables.chunks.down(consumer.no, from, 1 << FINAL_STATES.indexOf(state))) {
      const { max } = chunk;
      yield* takeAbove(waiting, max);
      // The list stops at this candidate: nothing above `max` is left.
      if (budget.steps <= 0 && max < from) yield max;
      budget.steps -= 1;
      waiting.push(...this.#matchesIn(chunk, state, query, from));
      waiting = [...new Set(waiting)].sort((a, b) => a - b);
    }
    yield* takeAbove(waiting, Number.NEGATIVE_INFINITY);
  }

  #matchesIn(chunk: ChunkRow, state: FinalState, query: DeliveryQuery, from: number): number[] {
    return this.#tables.chunks
      .outcomesIn(chunk)
      .filter((entry) => entry.offset <= from && entry.state === state && matches({ ...entry, state }, query))
      .map(({ offset }) => offset);
  }
}

/** The first chunk and the first row of each consumer are always read, to find the newest candidate. */
function budgetFor(consumers: readonly Consumer[]): Budget {
  return { steps: STEPS_AT_ONCE + 2 * consumers.length };
}

/** Removes the numbers above `limit` from the end of an ascending list. */
function* takeAbove(ascending: number[], limit: number): Generator<number, void> {
  for (let next = ascending.at(-1); next !== undefined && next > limit; next = ascending.at(-1)) {
    ascending.pop();
    yield next;
  }
}

/** The clock of a delivery's times. */
function timesOf({ state }: Delivery): "wall" | "monotonic" {
  return state === "pending" ? "monotonic" : "wall";
}

function matches(
  { state, reason, atMs }: Pick<Delivery, "state" | "reason" | "atMs">,
  query: DeliveryQuery,
): boolean {
  if (query.state === undefined ? state !== "failed" && state !== "pending" : state !== query.state)
    return false;
  if (query.error !== undefined && !reason.includes(query.error)) return false;
  if (query.fromMs !== undefined && atMs < query.fromMs) return false;
  return query.toMs === undefined || atMs < query.toMs;
}

/** Merges descending sequences into one. Equal numbers come in the order of their sources. Ends all sources when it ends. */
function* mergeDescending(
  sources: readonly Iterator<number>[],
): Generator<{ readonly source: number; readonly value: number }, void> {
  const heads = sources.map((iterator, source) => ({ iterator, source, next: iterator.next() }));
  try {
    for (;;) {
      let largest: (typeof heads)[number] | undefined;
      for (const head of heads) {
        if (!head.next.done && (largest === undefined || head.next.value > largest.next.value))
          largest = head;
      }
      if (largest === undefined) return;
      const { source, iterator, next } = largest;
      largest.next = iterator.next();
      yield { source, value: next.value };
    }
  } finally {
    for (const { iterator } of heads) iterator.return?.();
  }
}

/** Merges descending sequences into one that has each number once. */
function* uniqueDescending(sources: readonly Iterator<number>[]): Generator<number, void> {
  let last = Number.POSITIVE_INFINITY;
  for (const { value } of mergeDescending(sources)) {
    if (value < last) yield value;
    last = value;
  }
}
