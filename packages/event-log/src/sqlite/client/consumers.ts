import type { Clock } from "@sluice/resilience";
import type { Consumers, Delivery } from "../../ports/consumers.js";
import { inWallTime, monotonicBounds, scannedInWallTime, tallyInWallTime } from "../../rules/in-wall-time.js";
import { readCursor, writeCursor } from "../../rules/page-cursor.js";
import type { DeliveryListAnswer } from "../calls/operations.js";
import { passedOn } from "../calls/passed-on.js";
import { encodeSettlement } from "../calls/settle-request.js";
import type { StoreConnection } from "./connection.js";

/** The main thread's side of the consumers. */
export function sqliteConsumers(connection: () => StoreConnection, clock: Clock): Consumers {
  return {
    ...passedOn("consumers", (operation, args) => connection().ask(operation, args)),

    async settle(consumerId, settlement) {
      const request = encodeSettlement(consumerId, settlement, clock.monotonic());
      const buffers = [request.outcomes.buffer, request.attempts.buffer];
      return (await connection().ask("settle", request, buffers)) ?? [];
    },

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
  };
}
