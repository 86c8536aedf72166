import type { Clock } from "@sluice/resilience";
import type { Consumers, Delivery } from "../../ports/consumers.js";
import { inWallTime, monotonicBounds, scannedInWallTime, tallyInWallTime } from "../../rules/in-wall-time.js";
import { readCursor, writeCursor } from "../../rules/page-cursor.js";
import type { DeliveryListAnswer } from "../calls/operations.js";
import { encodeSettlement } from "../calls/settle-request.js";
import type { StoreConnection } from "./connection.js";

/** The main thread's side of the consumers. */
export function sqliteConsumers(connection: () => StoreConnection, clock: Clock): Consumers {
  return {
    async resumeRetries(nowMs) {
      await connection().ask("resumeRetries", { nowMs });
    },

    open: async (consumerId, startAfter) => connection().ask("openConsumer", { consumerId, startAfter }),

    async settle(consumerId, settlement) {
      const request = encodeSettlement(consumerId, settlement, clock.monotonic());
      const buffers = [request.outcomes.buffer, request.attempts.buffer];
      return (await connection().ask("settle", request, buffers)) ?? [];
    },

    lease: async (consumerId, nowMs, untilMs, limit, storedUntilMs) =>
      connection().ask("lease", {
        consumerId,
        nowMs,
        untilMs,
        limit,
        ...(storedUntilMs === undefined ? {} : { storedUntilMs }),
      }),

    inLane: async (consumerId, lane, limit) => connection().ask("inLane", { consumerId, lane, limit }),

    lanes: async (consumerId, limit, after = Number.MIN_SAFE_INTEGER) =>
      connection().ask("lanes", { consumerId, limit, after }),

    withoutLane: async (consumerId, after, limit) =>
      connection().ask("withoutLane", { consumerId, after, limit }),

    nextDueMs: async (consumerId) => connection().ask("nextDue", { consumerId, nowMs: clock.monotonic() }),

    async requeue(consumerId, retries) {
      await connection().ask("requeue", { consumerId, retries, nowMs: clock.monotonic() });
    },

    retryNow: async (consumerId, offsets, { dueAtMs, states }) =>
      connection().ask("retryNow", { consumerId, offsets, dueAtMs, states, nowMs: clock.monotonic() }),

    async scan(consumerId, states, before = Number.MAX_SAFE_INTEGER) {
      const part = await connection().ask("scanDeliveries", { consumerId, states, before });
      return { ...part, items: part.items.map((item) => scannedInWallTime(item, clock)) };
    },

    async tally(consumerId, before = Number.MAX_SAFE_INTEGER) {
      const part = await connection().ask("tallyDeliveries", { consumerId, before });
      return { ...part, items: part.items.map((item) => tallyInWallTime(item, clock)) };
    },

    outcomesOf: async (offset, consumerId) =>
      (
        await connection().ask("outcomesOf", { offset, ...(consumerId === undefined ? {} : { consumerId }) })
      ).map((delivery) => inWallTime(delivery, clock)),

    attemptsOf: async (consumerId, offset) => connection().ask("attemptsOf", { consumerId, offset }),

    async list(query, page) {
      const items: Delivery[] = [];
      const pendingBounds = monotonicBounds(query, clock);
      let place: { position: number; tie: string } | undefined = readCursor(page.cursor);
      while (place !== undefined) {
        // One more than a page, to know whether there is a next page.
        const limit: number = page.limit + 1 - items.length;
        const answer: DeliveryListAnswer = await connection().ask("listDeliveries", {
          query,
          pendingBounds,
          ...place,
          limit,
        });
        items.push(...answer.items.map((delivery) => inWallTime(delivery, clock)));
        if (items.length > page.limit) break;
        place = answer.resumeAt;
      }
      const given = items.slice(0, page.limit);
      const last = given.at(-1);
      if (items.length <= given.length || last === undefined) return { items: given };
      return { items: given, nextCursor: writeCursor({ position: last.offset, tie: last.consumerId }) };
    },

    backlog: async (consumerId, after) =>
      connection().ask("backlog", { consumerId, ...(after === undefined ? {} : { after }) }),

    async remove(consumerId) {
      await connection().ask("removeConsumer", { consumerId });
    },
  };
}
