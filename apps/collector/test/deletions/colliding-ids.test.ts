import { afterEach, beforeEach, expect, test } from "vitest";
import { type CollectorWorld, openCollector } from "../audiences/collector-world.js";

let world: CollectorWorld;
beforeEach(async () => {
  world = await openCollector();
});
afterEach(() => world.close());

async function deleted(...userIds: string[]): Promise<{ users: { messages: number }[] }> {
  const { body } = await world.api("POST", "/deletions", { userIds });
  for (;;) {
    const { body: deletion } = await world.api("GET", `/deletions/${body.id}`);
    if (deletion.error !== undefined) throw new Error(deletion.error);
    if (deletion.status === "finished") return deletion.receipt;
  }
}
const stored = async (messageId: string) => (await world.api("GET", `/messages/${messageId}`)).status;
const profile = async (userId: string) => (await world.api("GET", `/profiles/${userId}`)).status;

test("deleting a user does not affect another user whose user id equals an anonymous id of the first", async () => {
  await world.send([
    { type: "identify", messageId: "m-1", userId: "victim", traits: { plan: "pro" } },
    { type: "track", messageId: "m-2", anonymousId: "victim", event: "Looked" },
    { type: "identify", messageId: "m-3", userId: "mallory", anonymousId: "victim" },
    { type: "track", messageId: "m-4", anonymousId: "victim", event: "Looked" },
    { type: "track", messageId: "m-5", userId: "victim", event: "Bought" },
  ]);
  expect((await world.api("GET", "/profiles/mallory")).body.identities).toEqual({
    userIds: ["mallory"],
    anonymousIds: ["victim"],
  });
  const receipt = await deleted("mallory");
  expect(receipt.users).toMatchObject([{ messages: 3, profile: true }]);
  expect(await profile("victim")).toBe(200);
  expect(await profile("mallory")).toBe(404);
  expect(await Promise.all(["m-1", "m-2", "m-3", "m-4", "m-5"].map(stored))).toEqual([
    200, 404, 404, 404, 200,
  ]);
});

test("deleting a user with `suppress` does not suppress another user whose user id equals an anonymous id of the first", async () => {
  await world.send([
    { type: "identify", messageId: "m-1", userId: "victim", traits: { plan: "pro" } },
    { type: "identify", messageId: "m-2", userId: "mallory", anonymousId: "victim" },
  ]);
  await world.api("POST", "/deletions", { userIds: ["mallory"], suppress: true });
  await world.send([{ type: "identify", messageId: "m-3", userId: "victim", traits: { plan: "free" } }]);
  expect((await world.api("GET", "/profiles/victim")).body.traits).toEqual({ plan: "free" });
});
