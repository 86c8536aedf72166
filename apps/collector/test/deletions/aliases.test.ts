import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CollectorWorld, openCollector, openReceiver } from "../audiences/collector-world.js";

let world: CollectorWorld;
beforeEach(async () => {
  world = await openCollector();
  await world.send([
    { type: "identify", messageId: "old-1", userId: "old", anonymousId: "phone", traits: { plan: "pro" } },
    { type: "track", messageId: "old-2", anonymousId: "phone", event: "Looked" },
    { type: "identify", messageId: "new-1", userId: "new", anonymousId: "laptop", traits: { seats: 2 } },
    { type: "alias", messageId: "new-2", userId: "new", previousId: "old" },
    { type: "track", messageId: "new-3", anonymousId: "laptop", event: "Looked" },
    { type: "track", messageId: "bob-1", userId: "bob", anonymousId: "laptop", event: "Looked" },
  ]);
});
afterEach(() => world.close());

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
async function deleted(request: object): Promise<any> {
  const created = await world.api("POST", "/deletions", request);
  for (;;) {
    const { body } = await world.api("GET", `/deletions/${created.body.id}`);
    if (body.error !== undefined) throw new Error(body.error);
    if (body.step === "done") return { created: created.body, receipt: body.receipt, done: body };
  }
}
const left = async (): Promise<string[]> =>
  (await world.api("GET", "/messages?limit=100")).body.items
    // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
    .map(({ messageId }: any) => messageId)
    .sort();

describe("a deletion of a user with aliases", () => {
  test("lists the aliases but keeps them, with their own anonymous ids and an empty profile", async () => {
    const { created, receipt, done } = await deleted({ userIds: ["new"] });
    expect(created.aliases).toEqual([{ userId: "new", aliases: ["old"] }]);
    expect(receipt.users).toMatchObject([
      { kind: "user", messages: 3, anonymousIds: 1, aliasesLeft: 1, profile: true },
    ]);
    expect(done).not.toHaveProperty("aliases");
    expect(await left()).toEqual(["bob-1", "old-1", "old-2"]);
    expect((await world.api("GET", "/profiles/new")).status).toBe(404);
    expect((await world.api("GET", "/profiles/old")).body).toMatchObject({
      userId: "old",
      traits: {},
      identities: { userIds: ["old"], anonymousIds: ["phone"] },
    });
    await deleted({ userIds: ["old"] });
    expect(await left()).toEqual(["bob-1"]);
  });

  test("includes them with `includeAliases`, and sends a delete message for each user id", async () => {
    const receiver = await openReceiver();
    await world.webhook(receiver.url, [world.sourceId]);
    const { receipt } = await deleted({ userIds: ["new"], includeAliases: true });
    expect(receipt.users).toMatchObject([{ messages: 5, anonymousIds: 2, aliases: 1, aliasesLeft: 0 }]);
    expect(await left()).toEqual(["bob-1"]);
    expect((await world.api("GET", "/profiles/old")).status).toBe(404);
    expect(receiver.got.map(({ userId }) => userId)).toEqual(["new", "old"]);
    await receiver.close();
  });

  test("of a joined anonymous id removes only its messages without a user id", async () => {
    const { receipt } = await deleted({ anonymousIds: ["phone"] });
    expect(receipt.users).toMatchObject([{ kind: "anonymous", messages: 1, profile: false }]);
    expect(await left()).toEqual(["bob-1", "new-1", "new-2", "new-3", "old-1"]);
    expect((await world.api("GET", "/profiles/new")).body.traits).toEqual({ plan: "pro", seats: 2 });
  });
});

test("a dry run reports what would be removed, and changes nothing", async () => {
  const receiver = await openReceiver(() => 503);
  await world.webhook(receiver.url, [world.sourceId]);
  await world.send([{ type: "track", messageId: "new-4", userId: "new", event: "Paid" }]);
  const tried = async () => (await world.api("GET", "/messages/new-4")).body.outcomes[0].attempts[0]?.status;
  await expect.poll(tried).toBe(503);
  const asked = { userIds: ["new"], suppress: true, dryRun: true };
  const before = await left();
  const { status, body } = await world.api("POST", "/deletions", asked);
  expect(status).toBe(200);
  expect(body).toEqual({
    dryRun: true,
    suppress: true,
    includeAliases: false,
    users: [
      {
        userId: "new",
        messages: 4,
        messagesBySource: [{ sourceId: world.sourceId, messages: 4 }],
        attempts: expect.any(Number),
        retries: 1,
        profile: true,
        audienceMemberships: 0,
        // The previous id of an alias may be of either kind, so `old` counts as both.
        anonymousIds: ["laptop"],
        aliases: ["old"],
      },
    ],
  });
  expect(body.users[0].attempts).toBeGreaterThan(0);
  expect(await left()).toEqual(before);
  expect((await world.api("GET", "/deletions")).body.items).toEqual([]);
  expect((await world.api("GET", "/suppressions")).body.items).toEqual([]);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  const audited = (await world.api("GET", "/audit")).body.items.map(({ action }: any) => action);
  expect(audited).not.toContain("deletions.create");
  const all = await world.api("POST", "/deletions", { ...asked, includeAliases: true });
  expect(all.body.users[0]).toMatchObject({
    messages: 6,
    anonymousIds: ["laptop", "phone"],
    aliases: ["old"],
  });
  await receiver.close();
});

test("a response stored for its Idempotency-Key contains no alias", async () => {
  const { adminToken } = world.collector.firstRun ?? {};
  const ask = async () => {
    const response = await fetch(`${world.collector.url}/api/v1/deletions`, {
      method: "POST",
      headers: { authorization: `Bearer ${adminToken}`, "idempotency-key": "key-1" },
      body: JSON.stringify({ userIds: ["new"], includeAliases: true }),
    });
    return (await response.json()) as { id: string; aliases?: unknown };
  };
  const first = await ask();
  expect(first.aliases).toEqual([{ userId: "new", aliases: ["old"] }]);
  const again = await ask();
  expect(again).toMatchObject({ id: first.id });
  expect(again).not.toHaveProperty("aliases");
});

describe("suppression", () => {
  test("is listed under each id and can be lifted under each", async () => {
    await deleted({ userIds: ["new"], includeAliases: true, suppress: true });
    const items = async () => (await world.api("GET", "/suppressions")).body.items;
    const [own, ...joined] = await items();
    expect(own).toMatchObject({ kind: "user" });
    expect(own).not.toHaveProperty("joinedTo");
    expect(joined).toMatchObject([
      { kind: "user", joinedTo: own.idHmac },
      { kind: "anonymous", joinedTo: own.idHmac },
      { kind: "anonymous", joinedTo: own.idHmac },
      { kind: "anonymous", joinedTo: own.idHmac },
    ]);
    expect((await world.api("DELETE", "/suppressions/phone")).status).toBe(404);
    expect((await world.api("DELETE", "/suppressions/phone?by=anonymousId")).status).toBe(204);
    expect(await items()).toHaveLength(4);
    expect((await world.api("DELETE", `/suppressions/${joined[0].idHmac}?by=idHmac`)).status).toBe(204);
    expect(await items()).toHaveLength(3);
    expect((await world.api("DELETE", "/suppressions/new")).status).toBe(204);
    expect(await items()).toEqual([]);
  });

  test("of a user does not affect an anonymous id with the same text", async () => {
    await deleted({ userIds: ["visitor"], suppress: true });
    await world.send([
      { type: "track", messageId: "v-1", anonymousId: "visitor", event: "Looked", properties: { a: 1 } },
      { type: "track", messageId: "v-2", userId: "visitor", event: "Looked", properties: { a: 1 } },
    ]);
    expect((await world.api("GET", "/messages/v-1")).body.message.properties).toEqual({ a: 1 });
    expect((await world.api("GET", "/messages/v-2")).body.message).not.toHaveProperty("properties");
  });

  test("of a user leaves no plain digest of the id in the data folder", async () => {
    const digest = "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"; // SHA-256 of "new"
    await deleted({ userIds: ["new"], suppress: true });
    await world.collector.close(5_000);
    for (const entry of await readdir(world.directory, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      expect((await readFile(join(entry.parentPath, entry.name))).includes(digest)).toBe(false);
    }
  });
});
