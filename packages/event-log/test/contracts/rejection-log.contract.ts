import { describe, expect, it } from "vitest";
import type { Rejection } from "../../src/ports/rejections.js";
import { RECEIVED_AT_MS } from "../batches.js";
import { type OpenStore, storeFixture } from "./store-fixture.js";

function rejection(messageId: string | undefined, fields: Partial<Rejection> = {}): Rejection {
  return {
    sourceId: "src_1",
    receivedAtMs: RECEIVED_AT_MS,
    ...(messageId === undefined ? {} : { messageId }),
    issues: [{ code: "event_not_defined", path: "event", message: "A track call needs an event" }],
    excerpt: `{"messageId":"${messageId}","ü":1}`,
    ...fields,
  };
}

export function rejectionLogContract(name: string, open: OpenStore): void {
  const openStore = storeFixture(open);

  describe(`refused messages: ${name}`, () => {
    it("are found, newest first, with every field", async () => {
      const { rejections } = (await openStore()).store;
      rejections.add([rejection("a"), rejection(undefined)]);
      rejections.add([rejection("b", { sourceId: "src_2", receivedAtMs: RECEIVED_AT_MS + 5 })]);
      const ids = async (query: object) =>
        (await rejections.find(query, { limit: 10 })).items.map(({ messageId }) => messageId);
      expect((await rejections.find({}, { limit: 10 })).items).toEqual([
        rejection("b", { sourceId: "src_2", receivedAtMs: RECEIVED_AT_MS + 5 }),
        rejection(undefined),
        rejection("a"),
      ]);
      expect(await ids({ messageId: "a" })).toEqual(["a"]);
      expect(await ids({ sourceId: "src_2" })).toEqual(["b"]);
      expect(await ids({ fromMs: RECEIVED_AT_MS + 1 })).toEqual(["b"]);
      expect(await ids({ toMs: RECEIVED_AT_MS + 1 })).toEqual([undefined, "a"]);
    });

    it("are kept up to the limit, the newest first", async () => {
      const { rejections } = (await openStore({ rejectionsKept: 5 })).store;
      for (let i = 0; i < 20; i++) rejections.add([rejection(`m${i}`)]);
      const { items } = await rejections.find({}, { limit: 100 });
      expect(items.map(({ messageId }) => messageId)).toEqual(["m19", "m18", "m17", "m16", "m15"]);
    });

    it("are paged without gaps or repetitions", async () => {
      const { rejections } = (await openStore()).store;
      rejections.add(["a", "b", "c"].map((id) => rejection(id)));
      const paged: unknown[] = [];
      let cursor: string | undefined;
      do {
        const page = await rejections.find({}, { limit: 2, ...(cursor === undefined ? {} : { cursor }) });
        paged.push(...page.items.map(({ messageId }) => messageId));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      expect(paged).toEqual(["c", "b", "a"]);
    });
  });
}
