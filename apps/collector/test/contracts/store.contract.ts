import { describe, expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/store/store.js";
import { idsBatch } from "../store/batches.js";
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
    it("is ready when it was opened, and counts what it holds", async () => {
      const { store } = await openStore();
      expect(store.health()).toEqual({ kind: "ready" });
      await store.log.append(idsBatch(["a", "bad", "b"], { skipped: [1] }));
      expect(store.stats().messages).toBe(2);
      expect(store.stats().bytes).toBeGreaterThan(0);
    });

    it("finishes what was asked for when it closes, and rejects what comes after", async () => {
      const { store } = await openStore();
      const asked = [store.log.append(idsBatch(["a"])), store.config.put("source", "s1", {})];
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
