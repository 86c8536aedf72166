import { expect, it } from "vitest";
import { startTestCollector } from "../../src/testing.js";

const URL = "https://hooks.example/orders";
const MINUTE = 60_000;

it("sends the delete message of a user whose earlier message waited for a retry", async () => {
  await using collector = await startTestCollector();
  await collector.connect({ webhooks: [{ url: URL }], order: "user" });
  collector.webhooks.script(URL, 503);
  await collector.send({ type: "track", event: "Ordered", userId: "u1", messageId: "m1" });
  await collector.advance(30 * MINUTE);
  await collector.api("POST", "/deletions", { userIds: ["u1"] });
  collector.webhooks.script(URL, 200);
  await collector.advance(30 * MINUTE);
  const bodies = collector.webhooks.requests.map(({ body }) => JSON.parse(body) as { type: string });
  expect(bodies.at(-1)).toMatchObject({ type: "delete", userId: "u1" });
});
