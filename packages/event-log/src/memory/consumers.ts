import type { Clock } from "@sluice/resilience";
import type { Offset } from "../message/offset.js";
import type {
  Attempt,
  Consumers,
  Delivery,
  DeliveryQuery,
  FinalState,
  Outcome,
  Retry,
} from "../ports/consumers.js";
import { StoreError } from "../ports/errors.js";
import { carriedOver, carryOver } from "../rules/carry-over.js";
import { inWallTime } from "../rules/in-wall-time.js";
import { readCursor, writeCursor } from "../rules/page-cursor.js";
import type { MemoryEventLog } from "./event-log.js";
import type { MemoryUsageCounters } from "./usage-counters.js";

interface Consumer {
  cursor: Offset;
  readonly outcomes: Map<Offset, Outcome>;
  readonly retries: Map<Offset, { readonly retry: Retry; readonly putAtMs: number }>;
  readonly attempts: Map<Offset, Attempt[]>;
  /** Until when a retry is leased. */
  readonly leases: Map<Offset, number>;
}

export interface MemoryConsumersOptions {
  readonly clock: Clock;
  readonly log: MemoryEventLog;
  readonly usage: MemoryUsageCounters;
}

export interface MemoryConsumers extends Consumers {
  /** Removes retries of these messages, and what was said in their attempts. */
  purge(offsets: readonly Offset[]): { attempts: number; retries: number };
  /** Whether a message stands so at a consumer. */
  isSettledAs(offset: Offset, state: FinalState): boolean;
  /** Forgets what every consumer found out; their cursors go to the head. */
  clear(): void;
}

export function memoryConsumers({ clock, log, usage }: MemoryConsumersOptions): MemoryConsumers {
  const consumers = new Map<string, Consumer>();
  /** The last known reading of the clock that the times of retries are of. */
  let lastMs = clock.monotonic();

  const consumerOf = (id: string): Consumer => {
    const consumer = consumers.get(id);
    if (consumer === undefined) throw new StoreError("not_found", `consumer ${id}`);
    return consumer;
  };

  const putRetry = (consumer: Consumer, retry: Retry): void => {
    lastMs = clock.monotonic();
    consumer.retries.set(retry.offset, { retry, putAtMs: lastMs });
    consumer.leases.delete(retry.offset);
  };

  const isLeased = (consumer: Consumer, offset: Offset, nowMs: number): boolean =>
    (consumer.leases.get(offset) ?? Number.NEGATIVE_INFINITY) > nowMs;

  const deliveryOf = (consumerId: string, consumer: Consumer, offset: Offset): Delivery | undefined => {
    const waiting = consumer.retries.get(offset);
    if (waiting !== undefined) {
      const { retry, putAtMs } = waiting;
      const pending: Delivery = {
        consumerId,
        offset,
        state: "pending",
        reason: retry.reason,
        atMs: putAtMs,
        rounds: retry.rounds,
        nextAttemptAtMs: retry.dueAtMs,
        retry,
      };
      return inWallTime(pending, clock);
    }
    const outcome = consumer.outcomes.get(offset);
    if (outcome === undefined) return undefined;
    const rounds = Math.max(0, ...(consumer.attempts.get(offset) ?? []).map((attempt) => attempt.attempt));
    return { consumerId, offset, state: outcome.state, reason: outcome.reason, atMs: outcome.atMs, rounds };
  };

  return {
    async resumeRetries(nowMs) {
      const shift = carryOver(lastMs, nowMs);
      lastMs = nowMs;
      for (const { leases } of consumers.values()) leases.clear();
      if (shift === undefined) return;
      for (const { retries } of consumers.values()) {
        for (const [offset, { retry, putAtMs }] of retries) {
          const moved = { ...retry, ...carriedOver(retry, shift) };
          retries.set(offset, { retry: moved, putAtMs: putAtMs + shift.dueMs });
        }
      }
    },

    async open(consumerId, startAfter) {
      let consumer = consumers.get(consumerId);
      if (consumer === undefined) {
        consumer = newConsumer(startAfter);
        consumers.set(consumerId, consumer);
      }
      const { cursor } = consumer;
      const ahead = new Set([...consumer.outcomes.keys(), ...consumer.retries.keys()]);
      return {
        cursor,
        settledAhead: [...ahead].filter((offset) => offset > cursor).sort((a, b) => a - b),
        retries: consumer.retries.size,
      };
    },

    async settle(consumerId, settlement) {
      const consumer = consumerOf(consumerId);
      if (settlement.cursor > consumer.cursor) consumer.cursor = settlement.cursor;
      for (const attempt of settlement.attempts) {
        const earlier = consumer.attempts.get(attempt.offset) ?? [];
        consumer.attempts.set(attempt.offset, [...earlier, attempt]);
      }
      for (const outcome of settlement.outcomes) {
        consumer.outcomes.set(outcome.offset, outcome);
        consumer.retries.delete(outcome.offset);
        consumer.leases.delete(outcome.offset);
        const sourceId = log.sourceOf(outcome.offset);
        if (sourceId !== undefined) usage.settled(sourceId, outcome.atMs, outcome.state);
      }
      for (const retry of settlement.retries) putRetry(consumer, retry);
    },

    async lease(consumerId, nowMs, leaseUntilMs, limit) {
      const consumer = consumerOf(consumerId);
      lastMs = nowMs;
      const due = [...consumer.retries.values()]
        .map(({ retry }) => retry)
        .filter((retry) => retry.dueAtMs <= nowMs && !isLeased(consumer, retry.offset, nowMs))
        .sort((a, b) => a.dueAtMs - b.dueAtMs || a.offset - b.offset)
        .slice(0, limit);
      for (const retry of due) consumer.leases.set(retry.offset, leaseUntilMs);
      return due;
    },

    async nextDueMs(consumerId) {
      const consumer = consumerOf(consumerId);
      const nowMs = clock.monotonic();
      let earliest: number | undefined;
      for (const { retry } of consumer.retries.values()) {
        if (isLeased(consumer, retry.offset, nowMs)) continue;
        if (earliest === undefined || retry.dueAtMs < earliest) earliest = retry.dueAtMs;
      }
      return earliest;
    },

    async requeue(consumerId, retries) {
      const consumer = consumerOf(consumerId);
      for (const retry of retries) putRetry(consumer, retry);
    },

    clear() {
      for (const [id, { cursor }] of consumers) consumers.set(id, newConsumer(later(cursor, log.head())));
    },

    purge(offsets) {
      const removed = { attempts: 0, retries: 0 };
      for (const consumer of consumers.values()) {
        for (const offset of offsets) {
          if (consumer.retries.delete(offset)) removed.retries += 1;
          consumer.leases.delete(offset);
          const attempts = consumer.attempts.get(offset) ?? [];
          removed.attempts += attempts.length;
          const silenced = attempts.map(({ response: _r, requestHeaders: _h, error, ...rest }) => ({
            ...rest,
            ...(error === undefined ? {} : { error: { code: error.code, message: "(removed)" } }),
          }));
          if (attempts.length > 0) consumer.attempts.set(offset, silenced);
        }
      }
      return removed;
    },

    isSettledAs(offset, state) {
      return [...consumers].some(([id, consumer]) => deliveryOf(id, consumer, offset)?.state === state);
    },

    async outcomesOf(offset) {
      return [...consumers]
        .map(([id, consumer]) => deliveryOf(id, consumer, offset))
        .filter((delivery) => delivery !== undefined)
        .sort((a, b) => (a.consumerId < b.consumerId ? -1 : 1));
    },

    async attemptsOf(consumerId, offset) {
      return consumers.get(consumerId)?.attempts.get(offset) ?? [];
    },

    async list(query, page) {
      const place = readCursor(page.cursor);
      const items = [...consumers]
        .filter(([id]) => query.consumerId === undefined || query.consumerId === id)
        .flatMap(([id, consumer]) =>
          [...new Set([...consumer.outcomes.keys(), ...consumer.retries.keys()])].map((offset) =>
            deliveryOf(id, consumer, offset),
          ),
        )
        .filter((delivery) => delivery !== undefined)
        .filter((delivery) => matchesDelivery(delivery, query))
        .filter(
          ({ offset, consumerId }) =>
            offset < place.position || (offset === place.position && consumerId > place.tie),
        )
        .sort((a, b) => b.offset - a.offset || (a.consumerId < b.consumerId ? -1 : 1));
      const given = items.slice(0, page.limit);
      const last = given.at(-1);
      if (items.length <= given.length || last === undefined) return { items: given };
      return { items: given, nextCursor: writeCursor({ position: last.offset, tie: last.consumerId }) };
    },

    async backlog(consumerId, after) {
      const consumer = consumerOf(consumerId);
      return { behind: log.countAfter(after ?? consumer.cursor), retries: consumer.retries.size };
    },

    async remove(consumerId) {
      consumers.delete(consumerId);
    },
  };
}

function matchesDelivery(delivery: Delivery, query: DeliveryQuery): boolean {
  const { state, reason, atMs } = delivery;
  if (query.state === undefined ? state !== "failed" && state !== "pending" : state !== query.state)
    return false;
  if (query.error !== undefined && !reason.includes(query.error)) return false;
  if (query.fromMs !== undefined && atMs < query.fromMs) return false;
  return query.toMs === undefined || atMs < query.toMs;
}

function newConsumer(cursor: Offset): Consumer {
  return { cursor, outcomes: new Map(), retries: new Map(), attempts: new Map(), leases: new Map() };
}

function later(a: Offset, b: Offset): Offset {
  return a > b ? a : b;
}
