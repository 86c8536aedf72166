import type { EventLog, Offset, StoredMessage } from "@sluice/event-log";
import { expect, test } from "vitest";
import { explainValue } from "../../src/engine/questions/explain-value.js";

test("a user with thousands of anonymous ids is explained by looking at some of them, one after the other", async () => {
  const asked: string[] = [];
  let underWay = 0;
  let most = 0;
  const log: Pick<EventLog, "find" | "get"> = {
    get: async () => undefined,
    async find({ userId = "" }) {
      asked.push(userId);
      underWay += 1;
      most = Math.max(most, underWay);
      await Promise.resolve();
      underWay -= 1;
      const offset = (userId === "ann" ? 9 : asked.length + 10) as Offset;
      const id = userId === "ann" ? { userId } : { anonymousId: userId };
      const message = { type: "track", event: "Order", ...id, timestamp: "2026-11-20T12:00:00.000Z" };
      const stored = { offset, message, messageId: `m${offset}`, sourceId: "s", receivedAtMs: 0 };
      return { items: [stored as unknown as StoredMessage] };
    },
  };
  const why = await explainValue(log, {
    summary: { userId: "ann", value: 3_000, events: 3_000 },
    spec: { kind: "accumulation", of: "count", event: "Order" },
    identities: ["u:ann", ...Array.from({ length: 3_000 }, (_, i) => `a:device ${i}`)],
    upTo: 1_000_000 as Offset,
  });
  expect(most).toBe(1);
  expect(asked).toHaveLength(100);
  expect(asked).toContain("ann");
  // The latest to be known are likely those of the latest events.
  expect(asked).toContain("device 2999");
  expect(why.madeOf).toHaveLength(20);
});
