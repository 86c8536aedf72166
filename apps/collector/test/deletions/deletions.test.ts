import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type CollectorWorld, openCollector, openReceiver } from "../audiences/collector-world.js";

let world: CollectorWorld;
let receiver: Awaited<ReturnType<typeof openReceiver>>;
let status = 200;
beforeEach(async () => {
  status = 200;
  world = await openCollector();
  receiver = await openReceiver(() => status);
});
afterEach(async () => {
  await world.close();
  await receiver.close();
});

const MARKER = "marker-0d2f6c81";

/** Returns the files in the data folder that contain the text. */
async function filesWith(text: string): Promise<string[]> {
  const names = await readdir(world.directory, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of names) {
    if (!entry.isFile()) continue;
    if ((await readFile(join(entry.parentPath, entry.name))).includes(text)) found.push(entry.name);
  }
  return found;
}

/** Polls until the deletion matches. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
async function until(id: string, holds: (deletion: any) => boolean): Promise<any> {
  for (;;) {
    const { body } = await world.api("GET", `/deletions/${id}`);
    if (holds(body)) return body;
    if (body.error !== undefined) throw new Error(body.error);
  }
}

/** A receiver that does not respond until `goOn` is called. */
async function openHeldReceiver() {
  let goOn: () => void = () => {};
  const mayAnswer = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const receiver = await openReceiver(() => 200, mayAnswer);
  return { ...receiver, goOn };
}

async function secondSource(): Promise<{ id: string; writeKey: string }> {
  const { body } = await world.api("POST", "/sources", { name: "second" });
  return { id: body.id, writeKey: body.writeKeys[0].key };
}

const track = (userId: string, messageId: string) => ({
  type: "track",
  userId,
  messageId,
  event: "Paid",
  properties: { note: `${MARKER} of ${userId}` },
});

describe("a deletion", () => {
  test("leaves no data of the user, sends one delete message per source, and lists both in its receipt", async () => {
    const second = await secondSource();
    const third = await secondSource();
    const both = await world.webhook(receiver.url, [world.sourceId, second.id, third.id]);
    const user = `user-${MARKER}`;
    await world.api("POST", "/audiences", {
      name: "Payers",
      condition: { kind: "event", event: "Paid", times: { atLeast: 1 } },
      destinationIds: [both],
    });
    await world.send([
      {
        type: "identify",
        userId: user,
        anonymousId: `anonymous-${MARKER}`,
        traits: { email: `${MARKER}@example.com` },
      },
      track(user, "one"),
      track("somebody else", "other"),
      { type: "track", anonymousId: `anonymous-${MARKER}`, event: "Seen", properties: { note: MARKER } },
    ]);
    await world.send([track(user, "two")], second.writeKey);
    await world.send([{ type: "track", userId: user, event: "", properties: { note: MARKER } }]);
    await receiver.until((got) => got.length === 7);
    expect(await filesWith(MARKER)).not.toEqual([]);

    const created = await world.api("POST", "/deletions", { userIds: [user] });
    expect(created).toMatchObject({ status: 201, body: { status: "initialized", userCount: 1 } });
    await receiver.until((got) => got.filter((message) => message.type === "delete").length === 2);
    const done = await until(created.body.id, (deletion) => deletion.step === "done");

    expect(done).toMatchObject({
      status: "finished",
      receipt: {
        users: [
          {
            idHmac: expect.stringMatching(/^[0-9a-f]{64}$/),
            kind: "user",
            profile: true,
            audienceMemberships: 1,
            messages: 5,
            anonymousIds: 1,
            aliasesLeft: 0,
          },
        ],
        purgedAt: expect.any(String),
        erasedAt: expect.any(String),
        tracesErasedAt: expect.any(String),
      },
    });
    expect(done.receipt.users[0].attempts).toBeGreaterThan(0);
    expect(done.receipt.deleteMessages).toHaveLength(2);
    const deletes = receiver.got.filter((message) => message.type === "delete");
    for (const message of deletes)
      expect(message).toEqual({ type: "delete", userId: user, timestamp: expect.any(String) });

    expect((await world.api("GET", `/messages?userId=${user}`)).body.items).toEqual([]);
    expect((await world.api("GET", "/messages/two")).status).toBe(404);
    expect((await world.api("GET", `/profiles/${user}`)).status).toBe(404);
    const [audience] = (await world.api("GET", "/audiences")).body.items;
    expect(audience.size).toBe(1);
    expect((await world.api("GET", "/messages/other")).status).toBe(200);
    const replay = await world.api("POST", "/replays", { filter: { destinationId: both } });
    expect(replay.body.count).toBeGreaterThan(0);
    await receiver.until((got) => got.filter((message) => message.userId === "somebody else").length > 2);
    expect(receiver.got.filter((message) => message.type === "delete")).toHaveLength(2);
    // The other user's message contains the marker too, so look for this user's text.
    expect(await filesWith(`${MARKER} of ${user}`)).toEqual([]);
    expect(await filesWith(user)).toEqual([]);
    expect(await filesWith(`anonymous-${MARKER}`)).toEqual([]);
    expect(await filesWith(`${MARKER}@example.com`)).toEqual([]);
  });

  test("is not undone by a client that resends old messages, and new messages are stored", async () => {
    await world.webhook(receiver.url, [world.sourceId]);
    await world.send([track("ann", "one")]);
    await receiver.until((got) => got.length === 1);
    const { body } = await world.api("POST", "/deletions", { userIds: ["ann"] });
    await until(body.id, (deletion) => deletion.status === "finished");
    expect(await world.send([track("ann", "one")])).toMatchObject({ duplicates: 1 });
    expect((await world.api("GET", "/messages/one")).status).toBe(404);
    await world.send([track("ann", "new")]);
    expect((await world.api("GET", "/messages/new")).status).toBe(200);
  });

  test("removes queued deliveries, retries the delete message as usual, and removes its traces when it is delivered or has failed", async () => {
    status = 503;
    await world.webhook(receiver.url, [world.sourceId]);
    await world.send([track("ann", "queued")]);
    const { body } = await world.api("POST", "/deletions", { userIds: ["ann"] });
    const waiting = await until(
      body.id,
      ({ step, receipt }) => step === "trace" && receipt?.deleteMessages[0]?.deliveries?.[0].attempts > 0,
    );
    expect(waiting).toMatchObject({ step: "trace", status: "running" });
    expect(waiting.receipt.erasedAt).toEqual(expect.any(String));
    expect(waiting.receipt.deleteMessages[0].deliveries).toEqual([
      {
        destinationId: expect.any(String),
        state: "pending",
        attempts: expect.any(Number),
        error: "HTTP 503",
      },
    ]);
    status = 200;
    await receiver.until((got) => got.some((message) => message.type === "delete"));
    const done = await until(body.id, (deletion) => deletion.step === "done");
    expect(done.status).toBe("finished");
    expect(done.receipt.deleteMessages[0].deliveries).toMatchObject([{ state: "sent" }]);
    expect(receiver.got.map((message) => message.type)).toEqual(["delete"]);
  });

  test("leaves no removed retry in the number of those that wait", async () => {
    status = 503;
    const destination = await world.webhook(receiver.url, [world.sourceId]);
    const retries = async (): Promise<number> =>
      (await world.api("GET", `/destinations/${destination}/status`)).body.retries;
    await world.send([track("ann", "queued")]);
    while ((await retries()) === 0) await new Promise((resolve) => setImmediate(resolve));
    const { body } = await world.api("POST", "/deletions", { userIds: ["ann"] });
    await until(body.id, (deletion) => deletion.receipt?.purgedAt !== undefined);
    status = 200;
    await until(body.id, (deletion) => deletion.status === "finished");
    expect(await retries()).toBe(0);
  });

  test("is not finished while a delete message has failed; it is sent again when asked, to the destination that missed it", async () => {
    status = 401;
    const other = await openReceiver(() => 200);
    const broken = await world.webhook(receiver.url, [world.sourceId]);
    await world.webhook(other.url, [world.sourceId]);
    await world.send([track("ann", "one")]);
    const { body } = await world.api("POST", "/deletions", { userIds: ["ann"] });
    const failed = await until(body.id, (deletion) => deletion.status === "undelivered");
    const failure = { destinationId: broken, state: "failed", attempts: 1, error: "HTTP 401" };
    const [message] = failed.receipt.deleteMessages;
    expect(message.deliveries).toMatchObject([failure, { state: "sent" }]);
    expect(failed.receipt).not.toHaveProperty("tracesErasedAt");

    await world.restart();
    const after = await until(body.id, (deletion) => deletion.status === "undelivered");
    expect(after.receipt).toEqual(failed.receipt);
    status = 200;
    const refused = await world.api("POST", `/deletions/${body.id}/retry`, { destinationId: "dst_other" });
    expect(refused).toMatchObject({ status: 409, body: { code: "conflict" } });
    const retried = await world.api("POST", `/deletions/${body.id}/retry`, { destinationId: broken });
    expect(retried.status).toBe(202);
    const done = await until(body.id, (deletion) => deletion.status === "finished");
    expect(done.receipt.deleteMessages[0].deliveries).toMatchObject([{ state: "sent" }, { state: "sent" }]);
    expect(other.got.filter((got) => got.type === "delete")).toHaveLength(1);
    expect((await world.api("POST", `/deletions/${body.id}/retry`, {})).status).toBe(409);
    expect((await world.api("POST", `/deletions/${body.id}/give-up`)).status).toBe(409);
    await other.close();
  });

  test("can be given up when a delete message has failed: it is erased, and the receipt says that it failed", async () => {
    status = 410;
    await world.webhook(receiver.url, [world.sourceId]);
    const user = `gone-${MARKER}`;
    await world.send([track(user, "one")]);
    const { body } = await world.api("POST", "/deletions", { userIds: [user] });
    await until(body.id, (deletion) => deletion.status === "undelivered");
    expect(await filesWith(user)).not.toEqual([]);
    const retry = await world.api("POST", `/deletions/${body.id}/retry`, {});
    expect(retry).toMatchObject({ status: 409, body: { code: "url_disabled" } });
    expect((await world.api("POST", `/deletions/${body.id}/give-up`)).status).toBe(202);
    const done = await until(body.id, (deletion) => deletion.status === "finished");
    expect(done.receipt).toMatchObject({
      deleteMessages: [{ deliveries: [{ state: "failed" }] }],
      gaveUpAt: expect.any(String),
      tracesErasedAt: expect.any(String),
    });
    expect(await filesWith(user)).toEqual([]);
  });

  test("cancels messages that a destination has read but not sent yet", async () => {
    // The first response is delayed, so the messages after it are in the destination's memory.
    const held = await openHeldReceiver();
    await world.webhook(held.url, [world.sourceId]);
    await world.send(
      Array.from({ length: 300 }, (_, at) => track(at % 2 === 0 ? "ann" : `user${at}`, `m${at}`)),
    );
    // Her messages are sent one at a time. The first of them may arrive after those of others.
    await vi.waitFor(() => expect(held.came.map(({ userId }) => userId)).toContain("ann"), 60_000);
    const hers = await world.api("GET", "/messages?userId=ann&limit=500");
    expect(hers.body.items).toHaveLength(150);
    const { body } = await world.api("POST", "/deletions", { userIds: ["ann"] });
    await until(body.id, (deletion) => deletion.receipt?.erasedAt !== undefined);
    const underWay = held.came.filter(
      (message) => message.userId === "ann" && message.type !== "delete",
    ).length;
    held.goOn();
    await until(body.id, (deletion) => deletion.step === "done");
    const others = held.got.filter((message) => message.userId !== "ann");
    expect(others).toHaveLength(150);
    const ofAnn = held.got.filter((message) => message.userId === "ann" && message.type !== "delete");
    // Deliveries in flight completed. None of the others was sent.
    expect(ofAnn.length).toBe(underWay);
    expect(underWay).toBeLessThan(150);
    await held.close();
  });

  test("sends no delete message if no enabled webhook destination is connected", async () => {
    const id = await world.webhook(receiver.url, [world.sourceId]);
    await world.api("PATCH", `/destinations/${id}`, { enabled: false });
    await world.send([track("ann", "one")]);
    const { body } = await world.api("POST", "/deletions", { userIds: ["ann", "never seen"] });
    const done = await until(body.id, (deletion) => deletion.step === "done");
    expect(done.receipt.deleteMessages).toEqual([]);
    expect(done.receipt.users).toMatchObject([
      { messages: 1, profile: true },
      { messages: 0, profile: false },
    ]);
  });

  test("is refused without users", async () => {
    expect((await world.api("POST", "/deletions", { userIds: [] })).status).toBe(400);
    expect((await world.api("POST", "/deletions", {})).status).toBe(400);
    expect((await world.api("GET", "/deletions/del_none")).status).toBe(404);
  });
});

describe("suppression", () => {
  test("stores later messages without their contents and delivers none of them, until it is lifted", async () => {
    await world.webhook(receiver.url, [world.sourceId]);
    await world.send([{ ...track("ann", "before"), anonymousId: "n1" }]);
    await receiver.until((got) => got.length === 1);
    const { body } = await world.api("POST", "/deletions", { userIds: ["ann"], suppress: true });
    await until(body.id, (deletion) => deletion.step === "done");

    await world.send([
      track("ann", "after"),
      { type: "track", anonymousId: "n1", messageId: "anonymous", event: "Paid" },
      track("bob", "bob"),
    ]);
    await receiver.until((got) => got.some((message) => message.messageId === "bob"));
    // The response is sent shortly before the outcomes of its batch are stored.
    for (const messageId of ["after", "anonymous"]) {
      const waited = await world.api("GET", `/wait?messageId=${messageId}&state=suppressed`);
      expect(waited.status).toBe(200);
    }
    const kept = await world.api("GET", "/messages/after");
    expect(kept.body.message).toEqual({ type: "track", messageId: "after", userId: "ann" });
    expect(kept.body.outcomes).toMatchObject([{ state: "suppressed", reason: "the user is suppressed" }]);
    expect((await world.api("GET", "/messages/anonymous")).body.outcomes).toMatchObject([
      { state: "suppressed" },
    ]);
    expect((await world.api("GET", "/profiles/ann")).status).toBe(404);
    const suppressed = (await world.api("GET", "/suppressions")).body.items;
    expect(suppressed).toMatchObject([
      { kind: "user" },
      { kind: "anonymous", joinedTo: suppressed[0].idHmac },
    ]);

    expect((await world.api("DELETE", "/suppressions/ann")).status).toBe(204);
    expect((await world.api("DELETE", "/suppressions/ann")).status).toBe(404);
    await world.send([track("ann", "again")]);
    await receiver.until((got) => got.some((message) => message.messageId === "again"));
    const messageIds = receiver.got.map((message) => message.messageId);
    expect(messageIds).not.toContain("after");
    expect(messageIds).not.toContain("anonymous");
  });
});
