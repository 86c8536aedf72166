import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Analytics } from "@sluice/node";
import { fakeCollector, loopbackCollector, memoryTransport } from "@sluice/testing";
import { checkout } from "../src/checkout.mjs";

const order = { userId: "u1", items: [{ sku: "G-32", price: 19 }] };

test("a completed order is tracked with its total", async () => {
  const collector = fakeCollector();
  const analytics = new Analytics({ writeKey: "test", transport: memoryTransport(collector) });
  checkout(analytics).complete(order);
  await analytics.close();
  assert.equal(collector.messages.length, 1);
  assert.deepEqual(collector.messages[0]?.properties, { total: 19, skus: ["G-32"] });
});

/** @type {import("@sluice/testing").LoopbackCollector} */
let server;
before(async () => {
  server = await loopbackCollector();
});
after(() => server.close());

test("over a real socket", async () => {
  const analytics = new Analytics({ writeKey: "test", host: server.url });
  checkout(analytics).complete(order);
  assert.deepEqual(await analytics.close(), { delivered: 1, failed: 0, refused: 0 });
  await server.waitFor({ event: "Order Completed" });
});
