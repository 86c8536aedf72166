import type { Clock } from "@sluice/resilience";
import type { Offset } from "../message/offset.js";
import type { Consumers, Delivery, DeliveryQuery, FinalState } from "../ports/consumers.js";
import { StoreError } from "../ports/errors.js";
import type { Page, PageRequest } from "../ports/page.js";
import { carryOver } from "../rules/carry-over.js";
import { readCursor, writeCursor } from "../rules/page-cursor.js";
import { MemoryConsumer } from "./consumer.js";
import type { MemoryEventLog } from "./event-log.js";
import type { MemoryUsageCounters } from "./usage-counters.js";

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

  const retries: Pick<Consumers, "resumeRetries" | "lease" | "nextDueMs" | "requeue"> = {
    async resumeRetries(nowMs) {
      const shift = carryOver(lastMs, nowMs);
      lastMs = nowMs;
      for (const consumer of consumers.values()) consumer.resume(shift);
    },
    async lease(consumerId, nowMs, leaseUntilMs, limit) {
      const consumer = get(consumerId);
      lastMs = nowMs;
      return consumer.lease(nowMs, leaseUntilMs, limit);
    },
    nextDueMs: async (consumerId) => get(consumerId).nextDueMs(clock.monotonic()),
    requeue: putRetries,
  };

  return {
    ...retries,
    ...deliveryQueries(consumers, clock),

    async open(consumerId, startAfter) {
      const consumer = consumers.get(consumerId) ?? new MemoryConsumer(consumerId, startAfter);
      consumers.set(consumerId, consumer);
      const { cursor, settled, retryCount } = consumer;
      const settledAhead = [...settled].filter((offset) => offset > cursor).sort((a, b) => a - b);
      return { cursor, settledAhead, retries: retryCount };
    },

    async settle(consumerId, settlement) {
      const consumer = get(consumerId);
      if (settlement.cursor > consumer.cursor) consumer.cursor = settlement.cursor;
      for (const attempt of settlement.attempts) consumer.addAttempt(attempt);
      for (const outcome of settlement.outcomes) {
        consumer.putOutcome(outcome);
        const sourceId = log.sourceOf(outcome.offset);
        if (sourceId !== undefined) usage.settled(sourceId, outcome.atMs, outcome.state);
      }
      await putRetries(consumerId, settlement.retries);
    },

    async backlog(consumerId, after) {
      const { cursor, retryCount } = get(consumerId);
      return { behind: log.countAfter(after ?? cursor), retries: retryCount };
    },

    async remove(consumerId) {
      consumers.delete(consumerId);
    },

    clear() {
      for (const { id, cursor } of consumers.values())
        consumers.set(id, new MemoryConsumer(id, Math.max(cursor, log.head()) as Offset));
    },

    purge: (offsets) => purgeAt(consumers.values(), offsets),
    isSettledAs: (offset, state) =>
      [...consumers.values()].some((consumer) => consumer.delivery(offset, clock)?.state === state),
  };
}

function deliveryQueries(
  consumers: ReadonlyMap<string, MemoryConsumer>,
  clock: Clock,
): Pick<Consumers, "outcomesOf" | "attemptsOf" | "list"> {
  return {
    outcomesOf: async (offset) =>
      [...consumers.values()]
        .flatMap((consumer) => consumer.delivery(offset, clock) ?? [])
        .sort((a, b) => (a.consumerId < b.consumerId ? -1 : 1)),
    attemptsOf: async (consumerId, offset) => consumers.get(consumerId)?.attemptsOf(offset) ?? [],
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
