import { describe, expect, it } from "vitest";
import type { NewBatch } from "../../src/message/batch.js";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import type { Identity } from "../../src/message/identity.js";
import { RECEIVED_AT_MS } from "../batches.js";
import { type OpenStore, storeFixture } from "./store-fixture.js";

const EVERYTHING = { messages: 1_000, bytes: 1_000_000 };

function track(messageId: string, userId: string) {
  return { type: "track", messageId, userId, event: "Paid", properties: { card: `secret of ${userId}` } };
}

function batchOf(messages: readonly ReturnType<typeof track>[], more: Partial<NewBatch> = {}): NewBatch {
  return {
    sourceId: "src_1",
    receivedAtMs: RECEIVED_AT_MS,
    body: Buffer.from(JSON.stringify({ batch: messages, context: { app: "shop" } })),
    itemCount: messages.length,
    skipped: [],
    madeIds: [],
    keys: messages.map(({ messageId, userId, type, event }, index) => ({
      index,
      messageId,
      userId,
      type,
      event,
    })),
    ...more,
  };
}

/** The contract of purging. */
export function purgingContract(name: string, open: OpenStore): void {
  const openStore = storeFixture(open);

  describe(`purging: ${name}`, () => {
    it("removes a user's messages and leaves all others in place", async () => {
      const { store } = await openStore();
      await store.log.append(batchOf([track("a", "ann"), track("b", "bob"), track("c", "ann")]));
      await store.log.append(batchOf([track("d", "ann")]));
      await store.log.append(batchOf([track("e", "bob")]));
      const before = await store.log.read(BEFORE_FIRST, EVERYTHING);
      const places = before.flatMap(decodeBatch).map(({ offset, messageId }) => [messageId, offset]);

      expect(await store.purge({ userId: "ann" })).toEqual({ messages: 3, attempts: 0, retries: 0 });

      const after = await store.log.read(BEFORE_FIRST, EVERYTHING);
      expect(after.flatMap(decodeBatch).map(({ offset, messageId }) => [messageId, offset])).toEqual(
        places.filter(([messageId]) => messageId === "b" || messageId === "e"),
      );
      expect(Buffer.concat(after.map((batch) => batch.body)).includes("secret of ann")).toBe(false);
      expect((await store.log.find({ userId: "ann" }, { limit: 10 })).items).toEqual([]);
      expect((await store.log.find({ messageId: "d" }, { limit: 10 })).items).toEqual([]);
      expect((await store.log.find({}, { limit: 10 })).items.map((item) => item.messageId)).toEqual([
        "e",
        "b",
      ]);
      const [, offset] = places.find(([messageId]) => messageId === "c") ?? [];
      expect(await store.log.get(offset as Offset)).toBeUndefined();
      expect(await store.purge({ userId: "ann" })).toEqual({ messages: 0, attempts: 0, retries: 0 });
    });

    it("stops at the head as of the call, whatever arrives meanwhile", async () => {
      const { store } = await openStore();
      await store.log.append(batchOf([track("a", "ann"), track("b", "ann")]));
      const purging = store.purge({ userId: "ann" });
      await store.log.append(batchOf([track("c", "ann")]));
      expect(await purging).toEqual({ messages: 2, attempts: 0, retries: 0 });
      expect((await store.log.find({ userId: "ann" }, { limit: 10 })).items).toMatchObject([
        { messageId: "c" },
      ]);
      expect(await store.purge({ userId: "ann" })).toMatchObject({ messages: 1 });
    });

    it("stops between two commits when aborted, and removes the rest when called again", async () => {
      const { store } = await openStore();
      await store.log.append(batchOf(Array.from({ length: 250 }, (_, i) => track(`m${i}`, "ann"))));
      const already = AbortSignal.abort(new Error("closing"));
      await expect(store.purge({ userId: "ann" }, already)).rejects.toThrow("closing");
      const left = async () => (await store.log.find({ userId: "ann" }, { limit: 500 })).items.length;
      expect(await left()).toBe(250);
      const closing = new AbortController();
      const ended = store.purge({ userId: "ann" }, closing.signal).catch(() => {});
      closing.abort();
      await ended;
      await store.purge({ userId: "ann" });
      expect(await left()).toBe(0);
    });

    it("removes one message by its id and source", async () => {
      const { store } = await openStore();
      await store.log.append(batchOf([track("a", "ann"), track("b", "ann")]));
      await store.log.append(batchOf([track("a", "ann")], { sourceId: "src_2" }));
      expect(await store.purge({ sourceId: "src_2", messageId: "a" })).toMatchObject({ messages: 1 });
      expect(
        (await store.log.find({ userId: "ann" }, { limit: 10 })).items.map((item) => item.sourceId),
      ).toEqual(["src_1", "src_1"]);
    });

    it("still knows the ids: a message sent again is a duplicate", async () => {
      const { store } = await openStore();
      await store.log.append(batchOf([track("a", "ann")]));
      await store.purge({ userId: "ann" });
      expect(await store.log.append(batchOf([track("a", "ann")]))).toEqual({ duplicates: [0] });
    });

    it("overwrites refused items and duplicates of the same request, and a whole single message", async () => {
      const { store } = await openStore();
      const [first, second] = [track("a", "ann"), track("bad", "ann")];
      await store.log.append(batchOf([first, second], { skipped: [1], keys: batchOf([first]).keys }));
      await store.log.append(
        batchOf([track("s", "ann")], { body: Buffer.from(JSON.stringify(track("s", "ann"))), kind: "track" }),
      );
      await store.purge({ userId: "ann" });
      const bodies = (await store.log.read(BEFORE_FIRST, EVERYTHING)).map((batch) => Buffer.from(batch.body));
      expect(Buffer.concat(bodies).includes("ann")).toBe(false);
    });

    it("keeps nothing of refused items and duplicates, in any user's request", async () => {
      const { store } = await openStore();
      const ann = track("a", "ann");
      await store.log.append(batchOf([ann]));
      const mixed = [ann, track("b", "bob"), track("bad", "ann")];
      const { keys } = batchOf([ann, track("b", "bob")]);
      expect(await store.log.append(batchOf(mixed, { skipped: [2], keys }))).toEqual({ duplicates: [0] });
      await store.purge({ userId: "ann" });
      const after = await store.log.read(BEFORE_FIRST, EVERYTHING);
      expect(Buffer.concat(after.map((batch) => batch.body)).includes("ann")).toBe(false);
      expect(after.flatMap(decodeBatch).map(({ message }) => message)).toMatchObject([track("b", "bob")]);
    });

    it("removes the sender's address from a request with messages of several users", async () => {
      const { store } = await openStore();
      await store.log.append(
        batchOf([track("a", "ann"), track("b", "bob"), track("c", "bob")], {
          ip: "198.51.100.77",
          skipped: [2],
          keys: batchOf([track("a", "ann"), track("b", "bob")]).keys,
        }),
      );
      await store.log.append(batchOf([track("d", "bob")], { ip: "198.51.100.78" }));
      await store.purge({ userId: "ann" });
      const after = await store.log.read(BEFORE_FIRST, EVERYTHING);
      expect(after.map((batch) => batch.ip)).toEqual([undefined, "198.51.100.78"]);
      expect(after.flatMap(decodeBatch).map(({ messageId }) => messageId)).toEqual(["b", "d"]);
    });

    it("removes the retries and attempt texts of those messages only", async () => {
      const { store } = await openStore();
      await store.log.append(batchOf([track("a", "ann"), track("b", "bob")]));
      const [ann, bob] = (await store.log.read(BEFORE_FIRST, EVERYTHING)).flatMap(decodeBatch);
      if (ann === undefined || bob === undefined) throw new Error("two messages were appended");
      await store.consumers.open("dst", BEFORE_FIRST);
      const attempt = (offset: Offset, said: string) => ({
        offset,
        attempt: 1,
        atMs: RECEIVED_AT_MS,
        url: "https://example.com/",
        status: 500,
        latencyMs: 3,
        error: { code: "http_500", message: `it answered ${said}` },
        response: said,
      });
      const retry = (offset: Offset) => ({
        offset,
        rounds: 1,
        firstAttemptAtMs: RECEIVED_AT_MS,
        dueAtMs: RECEIVED_AT_MS + 1_000,
        reason: "http_500",
        doneUrls: [],
        replay: false,
      });
      await store.consumers.settle("dst", {
        cursor: bob.offset,
        outcomes: [],
        retries: [retry(ann.offset), retry(bob.offset)],
        attempts: [attempt(ann.offset, "no: secret of ann"), attempt(bob.offset, "no")],
      });
      expect(await store.purge({ userId: "ann" })).toEqual({ messages: 1, attempts: 1, retries: 1 });
      const [left] = await store.consumers.attemptsOf("dst", ann.offset);
      expect(JSON.stringify(left)).not.toContain("ann");
      expect(left).toMatchObject({ attempt: 1, status: 500, url: "https://example.com/" });
      expect(await store.consumers.attemptsOf("dst", bob.offset)).toEqual([attempt(bob.offset, "no")]);
      expect(await store.consumers.backlog("dst")).toMatchObject({ retries: 1 });
      // Later attempts are stored as before.
      await store.consumers.settle("dst", {
        cursor: bob.offset,
        outcomes: [{ offset: bob.offset, state: "delivered", reason: "", atMs: RECEIVED_AT_MS }],
        retries: [],
        attempts: [{ ...attempt(bob.offset, "fine"), attempt: 2 }],
      });
      expect((await store.consumers.attemptsOf("dst", bob.offset)).map((one) => one.response)).toEqual([
        "no",
        "fine",
      ]);
    });

    it("stores neither attempt nor retry of a message that was removed while it was sent, and says so", async () => {
      const { store } = await openStore();
      await store.log.append(batchOf([track("a", "ann"), track("b", "bob")]));
      const [ann, bob] = (await store.log.read(BEFORE_FIRST, EVERYTHING)).flatMap(decodeBatch);
      if (ann === undefined || bob === undefined) throw new Error("two messages were appended");
      await store.consumers.open("dst", BEFORE_FIRST);
      await store.purge({ userId: "ann" });
      const times = { firstAttemptAtMs: RECEIVED_AT_MS, dueAtMs: RECEIVED_AT_MS + 1_000 };
      const more = { rounds: 1, reason: "http_500", doneUrls: [], replay: false };
      const leftOut = await store.consumers.settle("dst", {
        cursor: bob.offset,
        outcomes: [],
        retries: [ann, bob].map(({ offset }) => ({ offset, ...times, ...more })),
        attempts: [
          {
            ...{ offset: ann.offset, attempt: 1, atMs: RECEIVED_AT_MS, url: "https://example.com/" },
            ...{ status: 500, latencyMs: 3, response: "no: secret of ann" },
          },
        ],
      });
      expect(leftOut).toEqual([ann.offset]);
      expect(await store.consumers.backlog("dst")).toEqual({ behind: 0, retries: 1 });
      expect(JSON.stringify(await store.consumers.attemptsOf("dst", ann.offset))).not.toContain("secret");
    });

    it("leaves the texts of other users' attempts, even if they are equal or contain the user's words", async () => {
      const { store } = await openStore();
      await store.log.append(batchOf([track("a", "json"), track("b", "bob"), track("c", "json")]));
      const messages = (await store.log.read(BEFORE_FIRST, EVERYTHING)).flatMap(decodeBatch);
      await store.consumers.open("dst", BEFORE_FIRST);
      const attempts = messages.map(({ offset }) => ({
        offset,
        attempt: 1,
        atMs: RECEIVED_AT_MS,
        url: "https://example.com/json",
        status: 500,
        latencyMs: 3,
        error: { code: "json", message: "no json" },
        requestHeaders: { "Content-Type": "application/json" },
        response: "no json",
        responseHeaders: { shown: { "x-user": "json" }, leftOut: 0 },
      }));
      const outcomes = messages.map(({ offset }) => ({
        offset,
        state: "failed" as const,
        reason: "no json",
        atMs: RECEIVED_AT_MS,
      }));
      for (const i of messages.keys())
        await store.consumers.settle("dst", {
          cursor: messages[i]?.offset as Offset,
          outcomes: outcomes.slice(i, i + 1),
          retries: [],
          attempts: attempts.slice(i, i + 1),
        });
      expect(await store.purge({ userId: "json" })).toEqual({ messages: 2, attempts: 2, retries: 0 });
      const [a, b, c] = await Promise.all(
        messages.map(({ offset }) => store.consumers.attemptsOf("dst", offset)),
      );
      expect(b).toEqual(attempts.slice(1, 2));
      for (const [purged] of [a ?? [], c ?? []]) {
        expect(purged).toMatchObject({ url: "https://example.com/json", error: { code: "json" } });
        expect(purged?.response).toBeUndefined();
        expect(purged?.responseHeaders).toBeUndefined();
        expect(purged?.error?.message).toBe("(removed)");
      }
      for (const { offset } of messages)
        expect(await store.consumers.outcomesOf(offset)).toMatchObject([{ reason: "no json" }]);
    });

    it("works as before after a compaction", async () => {
      const { store } = await openStore();
      await store.log.append(batchOf([track("a", "ann"), track("b", "bob")]));
      await store.purge({ userId: "ann" });
      await store.compact();
      await store.log.append(batchOf([track("c", "bob")]));
      expect((await store.log.find({}, { limit: 10 })).items.map((item) => item.messageId)).toEqual([
        "c",
        "b",
      ]);
    });

    it("tells a user id from an anonymous id of the same text, and leaves other users' messages alone", async () => {
      const { store } = await openStore();
      const anonymous = { type: "track", messageId: "b", anonymousId: "ann", event: "Paid" };
      const other = { type: "track", messageId: "c", userId: "bob", anonymousId: "ann", event: "Paid" };
      const messages = [track("a", "ann"), anonymous, other];
      const keys = [
        { index: 0, messageId: "a", userId: "ann", type: "track" },
        { index: 1, messageId: "b", userId: "ann", isAnonymous: true as const, type: "track" },
        { index: 2, messageId: "c", userId: "bob", type: "track" },
      ];
      const body = Buffer.from(JSON.stringify({ batch: messages }));
      await store.log.append({ ...batchOf([]), body, itemCount: 3, keys });
      const left = async (): Promise<string[]> =>
        (await store.log.find({}, { limit: 10 })).items.map(({ messageId }) => messageId);
      const found = async (identity: Identity): Promise<string[]> =>
        (await store.log.find({ identity }, { limit: 10 })).items.map(({ messageId }) => messageId);
      expect([await found("u:ann"), await found("a:ann"), await found("u:bob")]).toEqual([
        ["a"],
        ["b"],
        ["c"],
      ]);
      expect(await store.purge({ anonymousId: "ann" })).toMatchObject({ messages: 1 });
      expect(await left()).toEqual(["c", "a"]);
      expect(await store.purge({ userId: "ann" })).toMatchObject({ messages: 1 });
      expect(await left()).toEqual(["c"]);
    });

    it("forgets refused messages by what their ids are; what they say elsewhere counts where they are nobody else's", async () => {
      const { store } = await openStore();
      const rejection = (excerpt: object, identities?: readonly Identity[]) => ({
        sourceId: "src_1",
        receivedAtMs: RECEIVED_AT_MS,
        issues: [],
        excerpt: JSON.stringify(excerpt),
        ...(identities === undefined ? {} : { identities }),
      });
      store.rejections.add([
        rejection({ no: 1 }, ["a:ann"]),
        rejection({ no: 2 }, ["u:ann"]),
        rejection({ no: 3, userId: "bob", said: "ann" }, ["u:bob"]),
        rejection({ no: 4, said: "ann" }),
      ]);
      const left = async (): Promise<unknown[]> =>
        (await store.rejections.find({}, { limit: 10 })).items.map(({ excerpt }) => JSON.parse(excerpt).no);
      await store.purge({ userId: "ann" });
      expect(await left()).toEqual([3, 1]);
      await store.purge({ anonymousId: "ann" });
      expect(await left()).toEqual([3]);
    });

    it("removes the user's refused messages", async () => {
      const { store } = await openStore();
      const rejection = (userId: string) => ({
        sourceId: "src_1",
        receivedAtMs: RECEIVED_AT_MS,
        issues: [],
        excerpt: JSON.stringify({ userId, event: "" }),
      });
      store.rejections.add([
        rejection("ann"),
        rejection("annabel"),
        { ...rejection("not shown"), identities: ["u:bob", "u:ann"] },
        { ...rejection("bob"), identities: ["u:bob"] },
      ]);
      await store.purge({ userId: "ann" });
      const { items } = await store.rejections.find({}, { limit: 10 });
      expect(items.map((item) => JSON.parse(item.excerpt).userId)).toEqual(["bob", "annabel"]);
    });
  });
}
