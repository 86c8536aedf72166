import type { DatabaseSync } from "node:sqlite";
import type { Delivery, DeliveryQuery, FinalState } from "../../ports/consumers.js";
import type { DeliveryListAnswer, DeliveryListRequest } from "../calls/operations.js";
import { FINAL_STATES } from "../calls/settle-request.js";
import type { Consumer, ConsumerTables } from "../consumers/consumer-tables.js";

/** Chunks and rows that one call looks at, at most: a longer search goes on with the next call, after others' turns. */
const STEPS_AT_ONCE = 400;

/** Lists deliveries by their message, the newest first. */
export class DeliveryList {
  readonly #database: DatabaseSync;
  readonly #tables: ConsumerTables;

  constructor(database: DatabaseSync, tables: ConsumerTables) {
    this.#database = database;
    this.#tables = tables;
  }

  list({ query, pendingBounds, position, tie, limit }: DeliveryListRequest): DeliveryListAnswer {
    const consumers = [...this.#tables.all]
      .filter(({ id }) => query.consumerId === undefined || query.consumerId === id)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    // Each consumer's first chunk and row are read to know whose turn it is.
    const budget = { steps: STEPS_AT_ONCE + 2 * consumers.length };
    const from = Math.min(position, Number.MAX_SAFE_INTEGER);
    const pendingQuery = { ...query, ...pendingBounds };
    const found: Delivery[] = [];
    const streams = consumers.map((consumer) => ({
      consumer,
      offsets: this.#candidates(consumer, query, from, budget),
    }));
    const heads = streams.map(({ consumer, offsets }) => ({ consumer, offsets, next: offsets.next() }));
    let done = { position, tie };
    let isBegun = false;
    try {
      for (;;) {
        const newest = heads.reduce<(typeof heads)[number] | undefined>(
          (best, head) =>
            !head.next.done && (best === undefined || head.next.value > (best.next.value ?? -1))
              ? head
              : best,
          undefined,
        );
        if (newest === undefined || newest.next.done) return { items: found };
        const offset = newest.next.value;
        const { consumer } = newest;
        // Each call gets on by one at least, however much there was to read before it.
        if (budget.steps <= 0 && isBegun) {
          return { items: found, resumeAt: offset === done.position ? done : { position: offset, tie: "" } };
        }
        newest.next = newest.offsets.next();
        if (offset === position && consumer.id <= tie) continue;
        done = { position: offset, tie: consumer.id };
        isBegun = true;
        const delivery = this.#tables.delivery(consumer, offset);
        budget.steps -= 1;
        if (delivery === undefined) continue;
        if (!matches(delivery, delivery.state === "pending" ? pendingQuery : query)) continue;
        found.push(delivery);
        if (found.length >= limit) return { items: found, resumeAt: done };
      }
    } finally {
      for (const { offsets } of streams) offsets.return(undefined);
    }
  }

  /**
   * Messages that stand so at a consumer, each once, from the newest down: only the runs of outcomes are read that have some. `most` are
   * given; where the search is not done then, or after enough was looked at, `before` tells where it goes on.
   */
  offsetsIn(state: FinalState, before: number, most: number): { offsets: number[]; before?: number } {
    const consumers = [...this.#tables.all];
    const budget = { steps: STEPS_AT_ONCE + 2 * consumers.length };
    const offsets: number[] = [];
    let lookedAt = Number.POSITIVE_INFINITY;
    for (const offset of merged(
      consumers.map((consumer) => this.#candidates(consumer, { state }, before - 1, budget)),
    )) {
      // Each call gets on by one at least, however much there was to read before it.
      if (budget.steps <= 0 && lookedAt < Number.POSITIVE_INFINITY) return { offsets, before: offset + 1 };
      lookedAt = offset;
      budget.steps -= 1;
      if (!this.#tables.isSettledAs(offset, state)) continue;
      offsets.push(offset);
      if (offsets.length >= most) return { offsets, before: offset };
    }
    return { offsets };
  }

  /** Offsets at which the consumer may have a delivery that the query asks for, each once, downwards. */
  *#candidates(
    consumer: Consumer,
    query: DeliveryQuery,
    from: number,
    budget: { steps: number },
  ): Generator<number, undefined, undefined> {
    const sources: Generator<number>[] = [];
    if (query.state === undefined || query.state === "pending") {
      sources.push(this.#offsetsOf("retries", consumer, from));
    }
    if (query.state !== "pending") {
      sources.push(this.#offsetsOf("late_outcomes", consumer, from));
      sources.push(this.#fromChunks(consumer, query, from, budget));
    }
    yield* merged(sources);
    return undefined;
  }

  // A statement of its own each time: several searches go on side by side.
  *#offsetsOf(table: "retries" | "late_outcomes", consumer: Consumer, from: number): Generator<number> {
    const rows = this.#database
      .prepare(`SELECT offset FROM ${table} WHERE consumer = ? AND offset <= ? ORDER BY offset DESC`)
      .iterate(consumer.no, from);
    for (const { offset } of rows) yield offset as number;
  }

  *#fromChunks(
    consumer: Consumer,
    query: DeliveryQuery,
    from: number,
    budget: { steps: number },
  ): Generator<number, undefined, undefined> {
    const state = query.state === undefined || query.state === "pending" ? "failed" : query.state;
    /** Candidates of the chunks read so far, ascending: those beyond the next chunk's last message are next. */
    let waiting: number[] = [];
    for (const chunk of this.#tables.chunks.down(consumer.no, from, 1 << FINAL_STATES.indexOf(state))) {
      const { max } = chunk;
      for (let next = waiting.at(-1); next !== undefined && next > max; next = waiting.at(-1)) {
        waiting.pop();
        yield next;
      }
      // Stops the search here: nothing beyond `max` is left.
      if (budget.steps <= 0 && max < from) yield max;
      budget.steps -= 1;
      for (const entry of this.#tables.chunks.outcomesIn(chunk)) {
        if (entry.offset <= from && entry.state === state && matches({ ...entry, state }, query)) {
          waiting.push(entry.offset);
        }
      }
      waiting = [...new Set(waiting)].sort((a, b) => a - b);
    }
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) yield next;
    return undefined;
  }
}

/** What comes from several sources that each go down, going down; each number once. */
function* merged(sources: readonly Iterator<number>[]): Generator<number, void> {
  const heads = sources.map((source) => ({ source, next: source.next() }));
  let last = Number.POSITIVE_INFINITY;
  try {
    for (;;) {
      let best: (typeof heads)[number] | undefined;
      for (const head of heads) {
        if (!head.next.done && (best === undefined || head.next.value > best.next.value)) best = head;
      }
      if (best === undefined) return;
      const offset = best.next.value;
      best.next = best.source.next();
      if (offset < last) yield offset;
      last = offset;
    }
  } finally {
    for (const { source } of heads) source.return?.();
  }
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
