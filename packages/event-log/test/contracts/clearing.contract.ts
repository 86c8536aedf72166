import { describe, expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import type { Retry } from "../../src/ports/consumers.js";
import { idsBatch } from "../batches.js";
import { type OpenStore, storeFixture } from "./store-fixture.js";

const EVERYTHING = { messages: 100, bytes: 1_000_000 };

/** The contract of `clear`. */
export function clearingContract(name: string, open: OpenStore): void {
  const openStore = storeFixture(open);

  describe(`a store that is cleared: ${name}`, () => {
    it("has no messages, knows no ids, and continues with later offsets", async () => {
      const { store } = await openStore();
      await store.log.append(idsBatch(["a", "b"]));
      const head = store.log.head();
      await store.clear();
      expect((await store.log.find({}, { limit: 10 })).items).toEqual([]);
      expect(await store.log.read(BEFORE_FIRST, EVERYTHING)).toEqual([]);
      expect(await store.log.get(head)).toBeUndefined();
      expect(store.stats().messages).toBe(0);
      expect(store.log.head()).toBe(head);

      expect((await store.log.append(idsBatch(["a"]))).duplicates).toEqual([]);
      expect(store.log.head()).toBeGreaterThan(head);
      const { items } = await store.log.find({}, { limit: 10 });
      expect(items.map(({ messageId }) => messageId)).toEqual(["a"]);
      expect(await store.log.read(head, EVERYTHING)).toHaveLength(1);
    });

    it("has no outcomes, retries or counts; its consumers are at the head, and documents stay", async () => {
      const { store, clock } = await openStore();
      await store.config.put("source", "s1", { name: "Shop" });
      const batch = idsBatch(["a", "b"]);
      await store.log.append(batch);
      const head = store.log.head();
      const [stored] = await store.log.read(BEFORE_FIRST, EVERYTHING);
      const first = stored?.first ?? head;
      await store.consumers.open("dst_1", BEFORE_FIRST);
      const retry: Retry = {
        offset: head,
        rounds: 1,
        firstAttemptAtMs: clock.now(),
        dueAtMs: clock.now(),
        reason: "503",
        doneUrls: [],
        replay: false,
      };
      await store.consumers.settle("dst_1", {
        cursor: head,
        outcomes: [{ offset: first, state: "delivered", reason: "200", atMs: clock.now() }],
        retries: [retry],
        attempts: [],
        range: { id: "1", runs: [[first, head]], settings: {} },
      });
      store.rejections.add([{ sourceId: "s1", receivedAtMs: clock.now(), issues: [], excerpt: "{}" }]);
      await store.clear();
      expect((await store.consumers.list({ state: "delivered" }, { limit: 10 })).items).toEqual([]);
      expect((await store.consumers.list({}, { limit: 10 })).items).toEqual([]);
      expect(await store.consumers.nextDueMs("dst_1")).toBeUndefined();
      expect(await store.consumers.backlog("dst_1")).toEqual({ behind: 0, retries: 0 });
      const state = { cursor: head, settledAhead: [], retries: 0 };
      expect(await store.consumers.open("dst_1", BEFORE_FIRST)).toEqual(state);
      expect((await store.rejections.find({}, { limit: 10 })).items).toEqual([]);
      expect(await store.usage.days(batch.sourceId)).toEqual([]);
      expect((await store.config.get("source", "s1"))?.value).toEqual({ name: "Shop" });
    });
  });
}
