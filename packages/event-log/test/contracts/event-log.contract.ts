import { describe, expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import type { EventLog, MessageQuery } from "../../src/ports/event-log.js";
import { batchOf, idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { type OpenStore, storeFixture } from "./store-fixture.js";

const ALL = { messages: 1_000_000, bytes: 1 << 30 };

async function idsAfter(log: EventLog, after: Offset, max = ALL): Promise<string[]> {
  const batches = await log.read(after, max);
  return batches
    .flatMap(decodeBatch)
    .filter((message) => message.offset > after)
    .map((message) => message.messageId);
}

async function found(log: EventLog, query: MessageQuery): Promise<string[]> {
  return (await log.find(query, { limit: 1000 })).items.map((message) => message.messageId);
}

export function eventLogContract(name: string, open: OpenStore): void {
  const openStore = storeFixture(open);

  describe(`event log: ${name}`, () => {
    it("is empty at first", async () => {
      const { log } = (await openStore()).store;
      expect(log.head()).toBe(BEFORE_FIRST);
      expect(await log.read(BEFORE_FIRST, ALL)).toEqual([]);
      expect(await log.find({}, { limit: 10 })).toEqual({ items: [] });
    });

    it("returns appended batches in order, byte for byte", async () => {
      const { log } = (await openStore()).store;
      const first = { ...idsBatch(["a", "b"]), ip: "192.0.2.1" };
      const second = { ...idsBatch(["c"], { sourceId: "src_2" }), onlyDestinations: ["dst_1"] };
      expect(await log.append(first)).toMatchObject({ duplicates: [] });
      await log.append(second);
      const [one, two, ...more] = await log.read(BEFORE_FIRST, ALL);
      const { keys: _, ...firstContent } = first;
      const { keys: __, ...secondContent } = second;
      expect(one && { ...one, body: new Uint8Array(one.body) }).toEqual({ ...firstContent, first: 0 });
      expect(two && { ...two, body: new Uint8Array(two.body) }).toEqual({ ...secondContent, first: 2 });
      expect(more).toEqual([]);
      expect(log.head()).toBe(2);
    });

    it("tells where a batch without duplicates begins", async () => {
      const { log } = (await openStore()).store;
      const together = await Promise.all([log.append(idsBatch(["a", "b"])), log.append(idsBatch(["c"]))]);
      expect(together.map(({ first }) => first)).toEqual([0, 2]);
      expect((await log.append(idsBatch(["d", "a"]))).first).toBeUndefined();
      const { first } = await log.append(idsBatch(["e"]));
      const [stored] = await log.read(((first ?? 0) - 1) as Offset, ALL);
      expect(stored?.first).toBe(first);
    });

    it("keeps the kind from the path of a single call, and generated ids", async () => {
      const { log } = (await openStore()).store;
      await log.append({
        sourceId: "src_1",
        receivedAtMs: RECEIVED_AT_MS,
        body: new TextEncoder().encode('{"userId":"u1","traits":{"n":12345678901234567890}}'),
        kind: "identify",
        itemCount: 1,
        skipped: [],
        madeIds: [[0, "made-1"]],
        keys: [{ index: 0, messageId: "made-1", userId: "u1", type: "identify" }],
      });
      const [message] = (await log.read(BEFORE_FIRST, ALL)).flatMap(decodeBatch);
      expect(message).toMatchObject({ messageId: "made-1", message: { type: "identify" } });
      expect(JSON.stringify(message?.message)).toContain("12345678901234567890");
      expect((await log.find({ messageId: "made-1" }, { limit: 1 })).items[0]?.message.userId).toBe("u1");
    });

    it("counts messages by source and destinations, in any range", async () => {
      const { log } = (await openStore()).store;
      await log.append(idsBatch(["a", "bad", "b", "c"], { skipped: [1] }));
      await log.append(idsBatch(["d"], { sourceId: "src_2" }));
      await log.append({ ...idsBatch(["e"]), onlyDestinations: ["dst_1"] });
      await log.append(idsBatch(["a", "f"]));
      const tallied = async (after: number, upTo: number = log.head()) => {
        const { counts, ...end } = await log.tally(after as Offset, upTo as Offset);
        expect(end).toEqual({ upTo });
        return counts.map((one) => [one.sourceId, one.onlyDestinations?.join(), one.messages]);
      };
      expect(await tallied(BEFORE_FIRST)).toEqual([
        ["src_1", undefined, 4],
        ["src_2", undefined, 1],
        ["src_1", "dst_1", 1],
      ]);
      expect(await tallied(0, 3)).toEqual([["src_1", undefined, 2]]);
      expect(await tallied(2, 4)).toEqual([
        ["src_1", undefined, 1],
        ["src_2", undefined, 1],
      ]);
      expect(await tallied(log.head())).toEqual([]);
    });

    it("reads from any offset, even within a batch", async () => {
      const { log } = (await openStore()).store;
      await log.append(idsBatch(["a", "b", "c"]));
      await log.append(idsBatch(["d"]));
      expect(await idsAfter(log, 0 as Offset)).toEqual(["b", "c", "d"]);
      expect(await idsAfter(log, 2 as Offset)).toEqual(["d"]);
      expect(await idsAfter(log, log.head())).toEqual([]);
    });

    it("reads whole batches up to the limits, at least one", async () => {
      const { log } = (await openStore()).store;
      for (const ids of [
        ["a", "b"],
        ["c", "d"],
        ["e", "f"],
      ])
        await log.append(idsBatch(ids));
      expect(await idsAfter(log, BEFORE_FIRST, { messages: 1, bytes: 1 })).toEqual(["a", "b"]);
      expect(await idsAfter(log, BEFORE_FIRST, { messages: 4, bytes: 1 << 20 })).toEqual([
        "a",
        "b",
        "c",
        "d",
      ]);
      const bytes = idsBatch(["a", "b"]).body.byteLength * 2;
      expect(await idsAfter(log, BEFORE_FIRST, { messages: 100, bytes })).toEqual(["a", "b", "c", "d"]);
    });

    it("leaves refused items out, and a batch does not end in offsets without a message", async () => {
      const { log } = (await openStore()).store;
      await log.append(idsBatch(["a", "bad", "c", "bad2"], { skipped: [1, 3] }));
      expect(log.head()).toBe(2);
      await log.append(idsBatch(["d"]));
      expect(await idsAfter(log, BEFORE_FIRST)).toEqual(["a", "c", "d"]);
      expect(await idsAfter(log, 2 as Offset)).toEqual(["d"]);
      expect(await log.get(1 as Offset)).toBeUndefined();
      expect((await log.get(2 as Offset))?.messageId).toBe("c");
      expect(await found(log, { messageId: "bad" })).toEqual([]);
    });

    it("does not share the caller's buffer", async () => {
      const { log } = (await openStore()).store;
      const batch = idsBatch(["a"]);
      const appended = log.append(batch);
      await appended;
      batch.body.fill(0);
      expect(await idsAfter(log, BEFORE_FIRST)).toEqual(["a"]);
    });

    it("keeps the order of batches appended without waiting", async () => {
      const { log } = (await openStore()).store;
      const ids = Array.from({ length: 200 }, (_, i) => `m${i}`);
      await Promise.all(ids.map((id) => log.append(idsBatch([id]))));
      expect(await idsAfter(log, BEFORE_FIRST)).toEqual(ids);
    });

    it("notifies listeners of appends until they unsubscribe", async () => {
      const { log } = (await openStore()).store;
      let told = 0;
      const end = log.onAppend(() => {
        told += 1;
        expect(log.head()).toBeGreaterThanOrEqual(0);
      });
      await log.append(idsBatch(["a"]));
      expect(told).toBe(1);
      await log.append(idsBatch(["a"]));
      expect(told).toBe(1);
      end();
      await log.append(idsBatch(["b"]));
      expect(told).toBe(1);
    });

    it("gets a message by its offset", async () => {
      const { log } = (await openStore()).store;
      await log.append(idsBatch(["a", "b"]));
      await log.append(idsBatch(["c"]));
      expect((await log.get(1 as Offset))?.messageId).toBe("b");
      expect((await log.get(2 as Offset))?.messageId).toBe("c");
      expect(await log.get(3 as Offset)).toBeUndefined();
      expect(await log.get(BEFORE_FIRST)).toBeUndefined();
    });
  });

  describe(`dedupe: ${name}`, () => {
    it("reports and skips duplicates, within a batch, in the same commit and later", async () => {
      const { log } = (await openStore()).store;
      expect(await log.append(idsBatch(["a", "b", "a"]))).toEqual({ duplicates: [2] });
      const [one, two] = await Promise.all([
        log.append(idsBatch(["b", "c"])),
        log.append(idsBatch(["d", "c"])),
      ]);
      expect(one).toEqual({ duplicates: [0] });
      expect(two).toEqual({ duplicates: [1] });
      expect(await idsAfter(log, BEFORE_FIRST)).toEqual(["a", "b", "c", "d"]);
    });

    it("does not store a batch of duplicates", async () => {
      const { log } = (await openStore()).store;
      await log.append(idsBatch(["a", "b"]));
      const head = log.head();
      expect(await log.append(idsBatch(["b", "a"]))).toEqual({ duplicates: [0, 1] });
      expect(log.head()).toBe(head);
      expect(await log.read(head, ALL)).toEqual([]);
    });

    it("treats the same id at two sources as two messages", async () => {
      const { log } = (await openStore()).store;
      await log.append(idsBatch(["a"], { sourceId: "src_1" }));
      expect(await log.append(idsBatch(["a"], { sourceId: "src_2" }))).toMatchObject({ duplicates: [] });
      expect(await found(log, { messageId: "a" })).toEqual(["a", "a"]);
      expect(await found(log, { messageId: "a", sourceId: "src_2" })).toEqual(["a"]);
    });

    it("is not misled by similar ids", async () => {
      const { log } = (await openStore()).store;
      const ids = ["a", "A", "a ", "", "\0", "a\0", "ä", "a\u0308", "\ud800", "__proto__", "0", "00"];
      expect(await log.append(idsBatch(ids))).toMatchObject({ duplicates: [] });
      expect(await log.append(idsBatch(ids))).toEqual({ duplicates: ids.map((_, index) => index) });
    });

    it("remembers for at least the window", async () => {
      const { store, clock } = await openStore({ dedupeWindowMs: 3_600_000 });
      await store.log.append(idsBatch(["a"], { receivedAtMs: clock.now() }));
      await clock.advance(3_599_999);
      const again = await store.log.append(idsBatch(["a", "b"], { receivedAtMs: clock.now() }));
      expect(again).toEqual({ duplicates: [0] });
    });
  });

  describe(`finding messages: ${name}`, () => {
    async function filled() {
      const { store } = await openStore();
      const { log } = store;
      await log.append(
        batchOf(
          [
            { messageId: "m1", userId: "ann", event: "Opened" },
            { messageId: "m2", userId: "ben", event: "Closed", properties: { note: "Grüße" } },
          ],
          { receivedAtMs: RECEIVED_AT_MS },
        ),
      );
      await log.append(
        batchOf(
          [
            { messageId: "m3", userId: "ann", type: "identify", event: "Opened" },
            { messageId: "m4", userId: "ann", event: "Closed" },
          ],
          { receivedAtMs: RECEIVED_AT_MS + 1_000, sourceId: "src_2" },
        ),
      );
      await log.append(
        batchOf([{ messageId: "m5", userId: "cid", event: "Opened" }], {
          receivedAtMs: RECEIVED_AT_MS + 2_000,
        }),
      );
      return log;
    }

    it.each<[string, MessageQuery, string[]]>([
      ["everything, newest first", {}, ["m5", "m4", "m3", "m2", "m1"]],
      ["by id", { messageId: "m2" }, ["m2"]],
      ["by an id that is not there", { messageId: "m9" }, []],
      ["by user", { userId: "ann" }, ["m4", "m3", "m1"]],
      ["by type", { type: "identify" }, ["m3"]],
      ["by event", { event: "Closed" }, ["m4", "m2"]],
      ["by event and user", { event: "Closed", userId: "ann" }, ["m4"]],
      [
        "by type and event of which no message has both as track",
        { type: "track", event: "Opened" },
        ["m5", "m1"],
      ],
      ["by source", { sourceId: "src_2" }, ["m4", "m3"]],
      ["from a time on", { fromMs: RECEIVED_AT_MS + 1_000 }, ["m5", "m4", "m3"]],
      ["up to a time", { toMs: RECEIVED_AT_MS + 1_000 }, ["m2", "m1"]],
      ["by text, ignoring case", { text: "gRÜß" }, ["m2"]],
      ["by text that is nowhere", { text: "nowhere" }, []],
      ["by user and time", { userId: "ann", fromMs: RECEIVED_AT_MS + 500 }, ["m4", "m3"]],
    ])("finds %s", async (_case, query, expected) => {
      expect(await found(await filled(), query)).toEqual(expected);
    });

    it.each<[string, MessageQuery]>([
      ["everything", {}],
      ["one user's", { userId: "ann" }],
      ["one event's", { event: "Opened" }],
    ])("pages through %s without gap or repetition while more comes in", async (_case, query) => {
      const log = await filled();
      const whole = await found(log, query);
      const paged: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await log.find(query, { limit: 1, ...(cursor === undefined ? {} : { cursor }) });
        paged.push(...page.items.map((message) => message.messageId));
        cursor = page.nextCursor;
        await log.append(batchOf([{ messageId: `later-${paged.length}`, userId: "ann", event: "Opened" }]));
      } while (cursor !== undefined);
      expect(paged).toEqual(whole);
    });

    it("refuses a cursor that it did not issue", async () => {
      const log = await filled();
      await expect(log.find({}, { limit: 1, cursor: "nonsense" })).rejects.toMatchObject({
        code: "invalid_request",
      });
    });
  });
}
