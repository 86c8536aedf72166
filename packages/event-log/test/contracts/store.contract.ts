import { describe, expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import type { FinalState } from "../../src/ports/consumers.js";
import type { MessageQuery } from "../../src/ports/event-log.js";
import { batchOf, idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { clearingContract } from "./clearing.contract.js";
import { configStoreContract } from "./config-store.contract.js";
import { consumersContract } from "./consumers.contract.js";
import { eventLogContract } from "./event-log.contract.js";
import { purgingContract } from "./purging.contract.js";
import { rejectionLogContract } from "./rejection-log.contract.js";
import { type OpenStore, storeFixture } from "./store-fixture.js";

/** All contracts of the store's ports. */
export function storeContract(name: string, open: OpenStore): void {
  eventLogContract(name, open);
  consumersContract(name, open);
  configStoreContract(name, open);
  rejectionLogContract(name, open);
  purgingContract(name, open);
  clearingContract(name, open);

  const openStore = storeFixture(open);

  describe(`the store: ${name}`, () => {
    it("is ready after opening, and counts its messages", async () => {
      const { store } = await openStore();
      expect(store.health()).toEqual({ kind: "ready" });
      await store.log.append(idsBatch(["a", "bad", "b"], { skipped: [1] }));
      expect(store.stats().messages).toBe(2);
      expect(store.stats().bytes).toBeGreaterThan(0);
    });

    it("finds messages by their state at a destination, combined with other conditions", async () => {
      const { store } = await openStore();
      const ids = Array.from({ length: 40 }, (_, i) => `m${i}`);
      for (const [i, messageId] of ids.entries()) {
        await store.log.append(batchOf([{ messageId, userId: `u${i % 2}`, event: i % 3 ? "A" : "B" }]));
      }
      const settle = (
        consumerId: string,
        cursor: number,
        outcomes: [number, FinalState][],
      ): Promise<unknown> =>
        store.consumers.settle(consumerId, {
          cursor: cursor as Offset,
          outcomes: outcomes.map(([offset, state]) => ({
            offset: offset as Offset,
            state,
            reason: state,
            atMs: RECEIVED_AT_MS,
          })),
          retries: [],
          attempts: [],
        });
      const failed = [3, 9, 20, 33];
      await store.consumers.open("dst_1", BEFORE_FIRST);
      await store.consumers.open("dst_2", BEFORE_FIRST);
      for (let i = 0; i < 40; i++)
        await settle("dst_1", i, [[i, failed.includes(i) ? "failed" : "delivered"]]);
      await settle("dst_2", 39, [
        [9, "failed"],
        [12, "failed"],
        [13, "filtered"],
      ]);
      // Failed once, and on its way again: it stands as pending.
      const again = { rounds: 0, firstAttemptAtMs: 0, dueAtMs: 1, reason: "", doneUrls: [], replay: true };
      await store.consumers.requeue("dst_1", [{ offset: 20 as Offset, ...again }]);

      const found = async (query: MessageQuery): Promise<string[]> => {
        const items: string[] = [];
        for (let cursor: string | undefined; ; ) {
          const page = await store.log.find(query, { limit: 2, ...(cursor === undefined ? {} : { cursor }) });
          items.push(...page.items.map(({ messageId }) => messageId));
          cursor = page.nextCursor;
          if (cursor === undefined) return items;
        }
      };
      expect(await found({ outcome: "failed" })).toEqual(["m33", "m12", "m9", "m3"]);
      expect(await found({ outcome: "filtered" })).toEqual(["m13"]);
      expect(await found({ outcome: "suppressed" })).toEqual([]);
      expect((await found({ outcome: "delivered" })).length).toBe(36);
      expect(await found({ outcome: "failed", userId: "u1" })).toEqual(["m33", "m9", "m3"]);
      expect(await found({ outcome: "failed", event: "B", userId: "u0" })).toEqual(["m12"]);
      expect(await found({ outcome: "failed", event: "A" })).toEqual([]);
      expect(await found({ outcome: "failed", messageId: "m12" })).toEqual(["m12"]);
      expect(await found({ outcome: "failed", messageId: "m13" })).toEqual([]);
      expect(await found({ outcome: "failed", text: "M3" })).toEqual(["m33", "m3"]);
    });

    it("takes the empty text for a value like any other", async () => {
      const { store, clock } = await openStore();
      const sent = (messageId: string, sourceId: string, fields: object) =>
        store.log.append(batchOf([{ messageId, ...fields }], { sourceId }));
      await sent("", "src_1", { userId: "", anonymousId: "a" });
      await sent("m1", "", { event: "" });
      await sent("m2", "src_1", { type: "identify" });
      const found = async (query: MessageQuery): Promise<string[]> =>
        (await store.log.find(query, { limit: 10 })).items.map(({ messageId }) => messageId);
      expect(await found({ messageId: "" })).toEqual([""]);
      expect(await found({ sourceId: "" })).toEqual(["m1"]);
      expect(await found({ event: "" })).toEqual(["m1"]);
      expect(await found({ type: "" })).toEqual([]);
      // No id at all: the message is that of its anonymous id.
      expect(await found({ userId: "" })).toEqual([]);
      expect(await found({ userId: "a" })).toEqual([""]);

      for (const consumerId of ["", "dst_1"]) await store.consumers.open(consumerId, BEFORE_FIRST);
      const offset = 1 as Offset;
      const failed = { offset, state: "failed", reason: "", atMs: clock.now() } as const;
      const later = {
        ...{ offset: 2 as Offset, rounds: 1, firstAttemptAtMs: 0, dueAtMs: 0 },
        ...{ reason: "", doneUrls: [""], replay: false },
      };
      const settlement = { cursor: offset, outcomes: [failed], retries: [later], attempts: [] };
      await store.consumers.settle("", settlement);
      expect((await store.consumers.list({ consumerId: "" }, { limit: 10 })).items).toHaveLength(2);
      expect((await store.consumers.list({ consumerId: "dst_1" }, { limit: 10 })).items).toEqual([]);
      expect((await store.consumers.list({ error: "" }, { limit: 10 })).items).toHaveLength(2);
      expect(await store.consumers.outcomesOf(offset, "dst_1")).toEqual([]);
      expect(await store.consumers.outcomesOf(offset, "")).toMatchObject([{ consumerId: "", reason: "" }]);
      expect(await store.consumers.lease("", 0, 1, 10)).toMatchObject([{ reason: "", doneUrls: [""] }]);
      await store.consumers.remove("");
      await expect(store.consumers.settle("", settlement)).rejects.toMatchObject({ code: "not_found" });
      await store.consumers.settle("dst_1", settlement);

      expect(await store.usage.days("")).toMatchObject([{ accepted: 1 }]);
      await store.config.put("", "", "");
      expect(await store.config.list("")).toEqual([{ id: "", version: 1, value: "" }]);
      await expect(store.config.put("", "", "", 0)).rejects.toMatchObject({ code: "conflict" });
      expect(await store.config.get("source", "")).toBeUndefined();
      expect(await store.config.delete("", "")).toBe(true);
    });

    it("finishes pending calls when it closes, and rejects later ones", async () => {
      const { store } = await openStore();
      // More than one commit takes.
      const text = "x".repeat(200_000);
      const batches = Array.from({ length: 40 }, (_, i) => batchOf([{ messageId: `m${i}`, text }]));
      const asked = [
        ...batches.map((batch) => store.log.append(batch)),
        store.config.put("source", "s1", {}),
      ];
      await store.close();
      await Promise.all(asked);
      const late = [
        store.log.append(idsBatch(["b"])),
        store.log.read(BEFORE_FIRST, { messages: 1, bytes: 1 }),
        store.config.get("source", "s1"),
        store.consumers.open("dst_1", BEFORE_FIRST),
      ];
      for (const call of late) await expect(call).rejects.toMatchObject({ code: "storage_unavailable" });
      expect(store.health().kind).toBe("unavailable");
      await store.close();
    });
  });
}
