import { type Clock, wallTimeAt } from "@sluice/resilience";
import type { Offset } from "../message/batch.js";
import type {
  Consumers,
  Delivery,
  DeliveryQuery,
  DeliveryTally,
  FinalState,
  Settlement,
} from "../ports/consumers.js";
import type { Page, PageRequest } from "../ports/documents.js";
import { StoreError } from "../ports/errors.js";
import { carryOver } from "../rules/carry-over.js";
import { readCursor, writeCursor } from "../rules/page-cursor.js";
import { MemoryConsumer } from "./consumer.js";
import type { MemoryEventLog } from "./event-log.js";
import type { MemoryUsageCounters } from "./rejection-log.js";

export interface MemoryConsumersOptions {
  readonly clock: Clock;
  readonly log: MemoryEventLog;
  readonly usage: MemoryUsageCounters;
}

export interface MemoryConsumers extends Consumers {
  /** Deletes the retries of these messages and the texts of their attempts. */
  purge(offsets: readonly Offset[]): { attempts: number; retries: number };
  /** Whether a message has this state at any consumer. */
  isSettledAs(offset: Offset, state: FinalState): boolean;
  /** Deletes outcomes, retries and attempts of every consumer, and moves the cursors to the head. */
  clear(): void;
}

export function memoryConsumers({ clock, log, usage }: MemoryConsumersOptions): MemoryConsumers {
  const consumers = new Map<string, MemoryConsumer>();
  /** Attempts at them may be under way. */
  const purged = new Set<Offset>();
  /** The last known reading of the clock that the times of retries refer to. */
  let lastMs = clock.monotonic();

  const get = (id: string): MemoryConsumer => {
    const consumer = consumers.get(id);
    if (consumer === undefined) throw new StoreError("not_found", `consumer ${id}`);
    return consumer;
  };

  const putRetries: Consumers["requeue"] = async (consumerId, retries) => {
    const consumer = get(consumerId);
    for (const retry of retries) {
      lastMs = clock.monotonic();
      consumer.putRetry(retry, lastMs);
    }
  };

  const retries: Pick<Consumers, "resumeRetries" | "lease" | "nextDueMs" | "requeue" | "retryNow"> = {
    async resumeRetries(nowMs) {
      // What an earlier process had under way cannot arrive any more.
      purged.clear();
      const shift = carryOver(lastMs, nowMs);
      lastMs = nowMs;
      for (const consumer of consumers.values()) consumer.resume(shift);
    },
    async lease(consumerId, nowMs, leaseUntilMs, limit, storedUntilMs) {
      const consumer = get(consumerId);
      lastMs = nowMs;
      return consumer.lease(nowMs, leaseUntilMs, limit, storedUntilMs);
    },
    nextDueMs: async (consumerId) => get(consumerId).nextDueMs(clock.monotonic()),
    requeue: putRetries,
    async retryNow(consumerId, offsets, { dueAtMs, states }) {
      const consumer = get(consumerId);
      lastMs = clock.monotonic();
      return offsets.filter((offset) => consumer.retryNow(offset, dueAtMs, states, lastMs));
    },
  };

  return {
    ...retries,
    ...laneQueries(get),
    ...deliveryQueries(consumers, clock),

    async open(consumerId, startAfter) {
      const consumer = consumers.get(consumerId) ?? new MemoryConsumer(consumerId, startAfter);
      consumers.set(consumerId, consumer);
      consumer.endLeases();
      const { cursor, settled, retryCount, range } = consumer;
      const settledAhead = [...settled].filter((offset) => offset > cursor).sort((a, b) => a - b);
      return { cursor, settledAhead, retries: retryCount, ...(range === null ? {} : { range }) };
    },

    async settle(consumerId, settlement) {
      const consumer = get(consumerId);
      lastMs = clock.monotonic();
      settleAt(consumer, settlement, { log, usage, purged });
      for (const retry of settlement.retries) if (!purged.has(retry.offset)) consumer.putRetry(retry, lastMs);
      for (const { offset, lane } of settlement.lanes ?? []) consumer.setLane(offset, lane);
      return settlement.retries.map(({ offset }) => offset).filter((offset) => purged.has(offset));
    },

    async backlog(consumerId) {
      const { cursor, retryCount } = get(consumerId);
      return { behind: log.countAfter(cursor), retries: retryCount };
    },

    async remove(consumerId) {
      consumers.delete(consumerId);
    },

    clear() {
      for (const { id, cursor } of consumers.values())
        consumers.set(id, new MemoryConsumer(id, Math.max(cursor, log.head()) as Offset));
    },

    purge(offsets) {
      for (const offset of offsets) purged.add(offset);
      return purgeAt(consumers.values(), offsets);
    },
    isSettledAs: (offset, state) =>
      [...consumers.values()].some((consumer) => consumer.delivery(offset, clock)?.state === state),
  };
}

/** Stores everything of a settlement but the retries. */
function settleAt(
  consumer: MemoryConsumer,
  { cursor, attempts, outcomes, range }: Settlement,
  {
    log,
    usage,
    purged,
  }: Pick<MemoryConsumersOptions, "log" | "usage"> & { readonly purged: ReadonlySet<Offset> },
): void {
  if (cursor > consumer.cursor) consumer.cursor = cursor;
  if (range !== undefined) consumer.range = structuredClone(range);
  for (const attempt of attempts) if (!purged.has(attempt.offset)) consumer.addAttempt(attempt);
  for (const outcome of outcomes) {
    consumer.putOutcome(outcome);
    const sourceId = log.sourceOf(outcome.offset);
    if (sourceId !== undefined) usage.settled(sourceId, outcome.atMs, outcome.state);
  }
}

function laneQueries(
  get: (consumerId: string) => MemoryConsumer,
): Pick<Consumers, "inLane" | "lanes" | "withoutLane"> {
  return {
    inLane: async (consumerId, lane, limit) => get(consumerId).inLane(lane, limit),
    lanes: async (consumerId, limit, after = Number.MIN_SAFE_INTEGER) => get(consumerId).lanes(limit, after),
    withoutLane: async (consumerId, after, limit) => get(consumerId).withoutLane(after, limit),
  };
}

function deliveryQueries(
  consumers: ReadonlyMap<string, MemoryConsumer>,
  clock: Clock,
): Pick<Consumers, "outcomesOf" | "attemptsOf" | "list" | "scan" | "tally"> {
  return {
    outcomesOf: async (offset, consumerId) =>
      [...consumers.values()]
        .filter(({ id }) => (consumerId ?? id) === id)
        .flatMap((consumer) => consumer.delivery(offset, clock) ?? [])
        .sort((a, b) => (a.consumerId < b.consumerId ? -1 : 1)),
    attemptsOf: async (consumerId, offset) => consumers.get(consumerId)?.attemptsOf(offset) ?? [],
    async scan(consumerId, states) {
      const items = deliveriesOf(consumers.get(consumerId), clock)
        .filter(({ state }) => states.includes(state))
        .map(({ offset, state, reason, atMs }) => ({ offset, state, reason, atMs }));
      return { items };
    },
    async tally(consumerId) {
      return { items: tallied(deliveriesOf(consumers.get(consumerId), clock), clock) };
    },
    async list(query, page) {
      const wanted = [...consumers.values()].filter(({ id }) => (query.consumerId ?? id) === id);
      const all = wanted.flatMap((consumer) =>
        [...consumer.settled].flatMap((offset) => consumer.delivery(offset, clock) ?? []),
      );
      return pageOf(
        all.filter((delivery) => matchesDelivery(delivery, query)),
        page,
      );
    },
  };
}

/** Newest message first. */
function deliveriesOf(consumer: MemoryConsumer | undefined, clock: Clock): Delivery[] {
  if (consumer === undefined) return [];
  return [...consumer.settled]
    .sort((a, b) => b - a)
    .flatMap((offset) => consumer.delivery(offset, clock) ?? []);
}

function tallied(deliveries: readonly Delivery[], clock: Clock): DeliveryTally[] {
  const tallies = new Map<string, DeliveryTally>();
  for (const { offset, state, reason, atMs, retry } of deliveries) {
    if ((state !== "failed" && state !== "pending") || retry?.rounds === 0) continue;
    const firstAtMs = retry === undefined ? atMs : wallTimeAt(retry.firstAttemptAtMs, clock);
    const key = `${state} ${reason}`;
    const before = tallies.get(key);
    tallies.set(key, {
      state,
      reason,
      count: (before?.count ?? 0) + 1,
      firstAtMs: Math.min(before?.firstAtMs ?? firstAtMs, firstAtMs),
      lastAtMs: Math.max(before?.lastAtMs ?? atMs, atMs),
      newest: before?.newest ?? offset,
    });
  }
  return [...tallies.values()];
}

function purgeAt(
  consumers: Iterable<MemoryConsumer>,
  offsets: readonly Offset[],
): { attempts: number; retries: number } {
  const removed = { attempts: 0, retries: 0 };
  for (const consumer of consumers) {
    for (const offset of offsets) {
      const { attempts, retries } = consumer.purge(offset);
      removed.attempts += attempts;
      removed.retries += retries;
    }
  }
  return removed;
}

/** Newest first, then by consumer. */
function pageOf(deliveries: readonly Delivery[], { cursor, limit }: PageRequest): Page<Delivery> {
  const { position, tie } = readCursor(cursor);
  const rest = deliveries
    .filter(({ offset, consumerId }) => offset < position || (offset === position && consumerId > tie))
    .sort((a, b) => b.offset - a.offset || (a.consumerId < b.consumerId ? -1 : 1));
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  if (rest.length <= items.length || last === undefined) return { items };
  return { items, nextCursor: writeCursor({ position: last.offset, tie: last.consumerId }) };
}

function matchesDelivery(delivery: Delivery, query: DeliveryQuery): boolean {
  const { state, reason, atMs } = delivery;
  if (query.state === undefined ? state !== "failed" && state !== "pending" : state !== query.state)
    return false;
  if (query.error !== undefined && !reason.includes(query.error)) return false;
  if (query.fromMs !== undefined && atMs < query.fromMs) return false;
  return query.toMs === undefined || atMs < query.toMs;
}
