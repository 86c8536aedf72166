import { afterEach, beforeEach, expect, test } from "vitest";
import { type CollectorWorld, openCollector, openReceiver } from "../audiences/collector-world.js";

let world: CollectorWorld;
let receiver: Awaited<ReturnType<typeof openReceiver>>;
beforeEach(async () => {
  world = await openCollector();
  receiver = await openReceiver();
});
afterEach(async () => {
  await world.close();
  await receiver.close();
});

test("deleting a user whose data contains words from request headers changes no other message", async () => {
  await world.webhook(receiver.url, [world.sourceId]);
  await world.send([{ type: "track", userId: "other", event: "Paid", messageId: "other" }]);
  const outcomesOf = async (messageId: string) => {
    for (;;) {
      const { body } = await world.api("GET", `/messages/${messageId}`);
      if (body.outcomes[0]?.state === "delivered") return body.outcomes;
    }
  };
  const before = await outcomesOf("other");
  expect(before[0].attempts[0].requestHeaders).toMatchObject({ "Content-Type": "application/json" });
  // Attempts after a restart are stored in another chunk, but share the same headers.
  await world.restart();
  const words = ["User", "json", "Type", "Content", "application/json", "User-Agent", "sluice"];
  await world.send([{ type: "identify", userId: "common", messageId: "one", traits: { words } }]);
  await outcomesOf("one");

  const { body } = await world.api("POST", "/deletions", { userIds: ["common"] });
  for (;;) {
    const deletion = (await world.api("GET", `/deletions/${body.id}`)).body;
    expect(deletion.error).toBeUndefined();
    if (deletion.step === "done") break;
  }
  expect(await world.api("GET", "/messages/other")).toMatchObject({
    status: 200,
    body: { outcomes: before },
  });
  await world.restart();
  expect(await world.api("GET", "/messages/other")).toMatchObject({
    status: 200,
    body: { outcomes: before },
  });
  await world.send([{ type: "track", userId: "other", event: "Paid", messageId: "later" }]);
  expect((await fetch(`${world.collector.url}/readyz`)).status).toBe(200);
});
