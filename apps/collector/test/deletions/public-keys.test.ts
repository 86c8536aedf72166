import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CollectorWorld, openCollector } from "../audiences/collector-world.js";

let world: CollectorWorld;
/** A write key that is public, because it is part of a web page. */
let publicKey: string;
beforeEach(async () => {
  world = await openCollector();
  const { body } = await world.api("POST", "/sources", { name: "shop", kind: "web" });
  publicKey = body.writeKeys[0].key;
});
afterEach(() => world.close());

/** Runs a deletion to the end and returns it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
async function deleted(request: object): Promise<any> {
  const created = await world.api("POST", "/deletions", request);
  expect(created.status).toBe(201);
  for (;;) {
    const { body } = await world.api("GET", `/deletions/${created.body.id}`);
    if (body.error !== undefined) throw new Error(body.error);
    if (body.step === "done") return body;
  }
}
const statusOf = async (messageId: string) => (await world.api("GET", `/messages/${messageId}`)).status;
const profile = (userId: string) => world.api("GET", `/profiles/${userId}`);

/** Messages about the victim from the server source. */
async function sendVictim(): Promise<void> {
  await world.send([
    { type: "identify", messageId: "v-1", userId: "victim", anonymousId: "laptop", traits: { plan: "pro" } },
    { type: "track", messageId: "v-2", userId: "victim", event: "Paid" },
    { type: "track", messageId: "v-3", anonymousId: "laptop", event: "Looked" },
  ]);
}

async function expectVictimUnharmed(): Promise<void> {
  expect(await Promise.all(["v-1", "v-2", "v-3"].map(statusOf))).toEqual([200, 200, 200]);
  expect((await profile("victim")).body).toMatchObject({
    userId: "victim",
    traits: { plan: "pro" },
    identities: { userIds: ["victim"], anonymousIds: ["laptop"] },
  });
  await world.send([
    { type: "track", messageId: "v-4", userId: "victim", event: "Paid", properties: { total: 7 } },
    { type: "track", messageId: "v-5", anonymousId: "laptop", event: "Looked", properties: { at: "home" } },
  ]);
  for (const [messageId, properties] of [
    ["v-4", { total: 7 }],
    ["v-5", { at: "home" }],
  ])
    expect((await world.api("GET", `/messages/${messageId}`)).body.message.properties).toEqual(properties);
}

describe("with the write key of a web source, an attacker cannot take over", () => {
  test("a user with an alias: the victim's messages survive the deletion of the attacker, and later ones are kept", async () => {
    await sendVictim();
    await world.send(
      [{ type: "alias", messageId: "m-1", userId: "mallory", previousId: "victim" }],
      publicKey,
    );
    await deleted({ userIds: ["mallory"], suppress: true });
    expect(await statusOf("m-1")).toBe(404);
    await expectVictimUnharmed();
  });

  test("a user with the user id as an anonymous id", async () => {
    await sendVictim();
    await world.send(
      [{ type: "identify", messageId: "m-1", userId: "mallory", anonymousId: "victim" }],
      publicKey,
    );
    await deleted({ userIds: ["mallory"], suppress: true });
    await expectVictimUnharmed();
  });

  test("a user's device", async () => {
    await sendVictim();
    await world.send(
      [
        { type: "identify", messageId: "m-1", userId: "mallory", anonymousId: "laptop" },
        { type: "alias", messageId: "m-2", userId: "mallory", previousId: "laptop" },
      ],
      publicKey,
    );
    await deleted({ userIds: ["mallory"], suppress: true });
    await expectVictimUnharmed();
  });

  test("a future user", async () => {
    await world.send(
      [
        { type: "alias", messageId: "m-1", userId: "mallory", previousId: "victim" },
        { type: "identify", messageId: "m-2", userId: "mallory", anonymousId: "victim" },
      ],
      publicKey,
    );
    await profile("mallory");
    await sendVictim();
    await deleted({ userIds: ["mallory"], suppress: true });
    await expectVictimUnharmed();
  });
});

describe("what a source may join", () => {
  const issuesOf = async (messageId: string): Promise<unknown> =>
    (await world.api("GET", `/messages/${messageId}`)).body.issues;

  test("web: identify and alias join an anonymous id that belongs to no user, and other messages join nothing", async () => {
    await world.send(
      [
        { type: "track", messageId: "w-1", userId: "ann", anonymousId: "phone", event: "Looked" },
        { type: "identify", messageId: "w-2", userId: "ann", anonymousId: "laptop" },
        { type: "alias", messageId: "w-3", userId: "ann", previousId: "tablet" },
      ],
      publicKey,
    );
    expect((await profile("ann")).body.identities).toEqual({
      userIds: ["ann"],
      anonymousIds: ["laptop", "tablet"],
    });
    expect(await issuesOf("w-1")).toBeUndefined();
    expect(await issuesOf("w-2")).toBeUndefined();
  });

  test("refused joins are listed as issues of the message, and counted per source", async () => {
    await sendVictim();
    await world.send(
      [
        { type: "alias", messageId: "m-1", userId: "mallory", previousId: "victim" },
        { type: "identify", messageId: "m-2", userId: "mallory", anonymousId: "laptop" },
      ],
      publicKey,
    );
    await profile("mallory");
    expect(await issuesOf("m-1")).toEqual([
      {
        code: "join_refused",
        path: "previousId",
        message:
          "`previousId` is not joined to the user: it is another user, and the source's `identity` is `anonymous`",
      },
    ]);
    expect(await issuesOf("m-2")).toMatchObject([{ code: "join_refused", path: "anonymousId" }]);
    const metrics = await world.metrics();
    expect(metrics).toMatch(/^sluice_refused_joins_total\{source="src_[^"]+"\} 2$/m);
    await world.restart();
    const { refusedJoins } = (await world.api("GET", "/problems")).body;
    expect(refusedJoins).toMatchObject([{ sourceId: expect.stringMatching(/^src_/), messages: 2 }]);
  });

  test("`identity` overrides the default of the source kind, from the next message on", async () => {
    const { body: source } = await world.api("POST", "/sources", {
      name: "app",
      kind: "mobile",
      identity: "none",
    });
    expect(source.identity).toBe("none");
    const key = source.writeKeys[0].key;
    await world.send([{ type: "identify", messageId: "n-1", userId: "ann", anonymousId: "phone" }], key);
    expect((await profile("ann")).body.identities.anonymousIds).toEqual([]);
    expect(await issuesOf("n-1")).toMatchObject([{ code: "join_refused", path: "anonymousId" }]);
    await world.api("PATCH", `/sources/${source.id}`, { identity: "full" });
    await world.send([{ type: "alias", messageId: "n-2", userId: "ann", previousId: "old" }], key);
    expect((await profile("ann")).body.identities.userIds).toEqual(["ann", "old"]);
    const { body: back } = await world.api("PATCH", `/sources/${source.id}`, { identity: null });
    expect(back.identity).toBe("anonymous");
  });
});
