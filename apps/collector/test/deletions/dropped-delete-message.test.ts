import type { Store } from "@sluice/event-log";
import { expect, test } from "vitest";
import { withDeliveries } from "../../src/deletions/delete-messages.js";

/** A store in which no delete message is left. */
const STORE = {
  config: { list: async () => [] },
  log: { find: async () => ({ items: [] }) },
} as unknown as Pick<Store, "log" | "config" | "consumers">;

test("a delivery whose message retention has dropped does not stay pending", async () => {
  const message = {
    sourceId: "src_1",
    messageId: "m1",
    destinationIds: ["one", "two"],
    deliveries: [
      { destinationId: "one", state: "sent" as const, attempts: 1 },
      { destinationId: "two", state: "pending" as const, attempts: 3, error: "HTTP 503" },
    ],
  };
  const [now] = await withDeliveries([message], STORE);
  expect(now?.deliveries).toEqual([
    { destinationId: "one", state: "sent", attempts: 1 },
    {
      destinationId: "two",
      state: "failed",
      attempts: 3,
      error: "retention removed the delete message before its result was read",
    },
  ]);
});
