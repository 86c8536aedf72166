import { Analytics, fetchTransport } from "@sluice/node";
import { fakeCollector, memoryTransport } from "@sluice/testing";
import { mswHandlers } from "@sluice/testing/msw";
import { setupServer } from "msw/node";
import { expect, it } from "vitest";
import { checkout } from "../src/checkout.mjs";

const order = {
  userId: "u1",
  items: [
    { sku: "G-32", price: 19 },
    { sku: "G-33", price: 23 },
  ],
};

it("a completed order is tracked with its total", async () => {
  const collector = fakeCollector();
  const analytics = new Analytics({ writeKey: "test", transport: memoryTransport(collector) });
  checkout(analytics).complete(order);
  await analytics.close();
  expect(collector.messages).toMatchObject([
    {
      type: "track",
      userId: "u1",
      event: "Order Completed",
      properties: { total: 42, skus: ["G-32", "G-33"] },
    },
  ]);
});

it("no event is lost while the collector is down for a moment", async () => {
  const collector = fakeCollector({ faults: [{ status: 503 }, "reset"] });
  const analytics = new Analytics({ writeKey: "test", transport: memoryTransport(collector) });
  checkout(analytics).complete(order);
  expect(await analytics.close()).toEqual({ delivered: 1, failed: 0, refused: 0 });
  expect(collector.requests).toHaveLength(3);
});

it("works with msw, next to the application's other handlers", async () => {
  const collector = fakeCollector({ writeKey: "test" });
  const server = setupServer(...mswHandlers(collector, "https://events.example.com"));
  server.listen();
  try {
    const analytics = new Analytics({
      writeKey: "test",
      host: "https://events.example.com",
      transport: fetchTransport(),
    });
    checkout(analytics).complete(order);
    void analytics.flush();
    await collector.waitFor({ event: "Order Completed" });
    await analytics.close();
  } finally {
    server.close();
  }
});
