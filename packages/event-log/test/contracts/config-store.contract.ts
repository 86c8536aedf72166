import { describe, expect, it } from "vitest";
import type { ConfigChange } from "../../src/ports/documents.js";
import { VersionConflict } from "../../src/ports/errors.js";
import { type OpenStore, storeFixture } from "./store-fixture.js";

export function configStoreContract(name: string, open: OpenStore): void {
  const openStore = storeFixture(open);

  describe(`documents: ${name}`, () => {
    it("returns a document with a growing version", async () => {
      const { config } = (await openStore()).store;
      expect(await config.get("source", "s1")).toBeUndefined();
      expect(await config.put("source", "s1", { name: "Läden", n: null })).toEqual({
        id: "s1",
        version: 1,
        value: { name: "Läden", n: null },
      });
      expect(await config.put("source", "s1", { name: "Shops" })).toMatchObject({ version: 2 });
      expect(await config.get("source", "s1")).toEqual({ id: "s1", version: 2, value: { name: "Shops" } });
      expect(await config.get("destination", "s1")).toBeUndefined();
    });

    it("lists a kind, oldest first", async () => {
      const { config } = (await openStore()).store;
      for (const id of ["z", "a", "m"]) await config.put("source", id, { id });
      await config.put("destination", "d", {});
      await config.put("source", "z", { id: "z again" });
      expect((await config.list("source")).map(({ id }) => id)).toEqual(["z", "a", "m"]);
      expect(await config.list("token")).toEqual([]);
    });

    it("puts only over the expected version", async () => {
      const { config } = (await openStore()).store;
      await config.put("source", "s1", { n: 1 }, 0);
      await expect(config.put("source", "s1", { n: 2 }, 0)).rejects.toMatchObject({
        code: "conflict",
        current: 1,
      });
      await config.put("source", "s1", { n: 2 }, 1);
      await expect(config.put("source", "s1", { n: 3 }, 1)).rejects.toMatchObject({ current: 2 });
      await expect(config.put("source", "s2", {}, 4)).rejects.toMatchObject({ current: 0 });
      expect(await config.get("source", "s1")).toMatchObject({ version: 2, value: { n: 2 } });
    });

    it("names the document that was in the way, whatever others are called", async () => {
      const { config } = (await openStore()).store;
      const puts = [
        { kind: "s", id: "b", value: 1 },
        { kind: "as", id: "b", value: 1, expected: 5 },
      ];
      await expect(config.putAll(puts)).rejects.toThrow(new VersionConflict("as", "b", 0));
    });

    it("lets one of two writers of the same version win", async () => {
      const { config } = (await openStore()).store;
      const puts = await Promise.allSettled([1, 2, 3].map((n) => config.put("source", "s1", { n }, 0)));
      expect(puts.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
    });

    it("puts several documents together, or none", async () => {
      const { config } = (await openStore()).store;
      await config.put("source", "s1", { n: 1 });
      const both = [
        { kind: "token", id: "t1", value: { n: 1 } },
        { kind: "source", id: "s1", value: { n: 2 }, expected: 0 },
      ];
      await expect(config.putAll(both)).rejects.toMatchObject({ code: "conflict", current: 1 });
      expect(await config.get("token", "t1")).toBeUndefined();
      expect(await config.get("source", "s1")).toMatchObject({ version: 1, value: { n: 1 } });
      const changes: ConfigChange[] = [];
      const unwatch = config.watch((change) => void changes.push(change));
      expect(await config.putAll(both.map(({ expected: _, ...put }) => put))).toEqual([
        { id: "t1", version: 1, value: { n: 1 } },
        { id: "s1", version: 2, value: { n: 2 } },
      ]);
      unwatch();
      expect(changes).toEqual([
        { kind: "token", id: "t1", document: { id: "t1", version: 1, value: { n: 1 } } },
        { kind: "source", id: "s1", document: { id: "s1", version: 2, value: { n: 2 } } },
      ]);
    });

    it("deletes, and restarts at version 1", async () => {
      const { config } = (await openStore()).store;
      await config.put("source", "s1", {});
      expect(await config.delete("source", "s1")).toBe(true);
      expect(await config.delete("source", "s1")).toBe(false);
      expect(await config.get("source", "s1")).toBeUndefined();
      expect(await config.put("source", "s1", {}, 0)).toMatchObject({ version: 1 });
    });

    it("notifies watchers of every change until they unsubscribe", async () => {
      const { config } = (await openStore()).store;
      const changes: ConfigChange[] = [];
      const end = config.watch((change) => void changes.push(change));
      await config.put("source", "s1", { name: "Shop" });
      await config.put("source", "s1", {}, 7).catch(() => {});
      await config.delete("source", "s1");
      await config.delete("source", "s1");
      end();
      await config.put("source", "s2", {});
      expect(changes).toEqual([
        { kind: "source", id: "s1", document: { id: "s1", version: 1, value: { name: "Shop" } } },
        { kind: "source", id: "s1" },
      ]);
    });

    it("resolves a change when its watchers have applied it, without waiting for other changes", async () => {
      const { config } = (await openStore()).store;
      const happened: string[] = [];
      let follow: () => void = () => {};
      const followed = new Promise<void>((resolve) => {
        follow = resolve;
      });
      const end = config.watch(({ id, document }) => {
        happened.push(`${id} told: ${document === undefined ? "deleted" : document.version}`);
        return id === "slow" ? followed : undefined;
      });
      const slow = [config.put("source", "slow", {}), config.delete("source", "slow")].map((change, index) =>
        change.then(() => happened.push(`slow resolved: ${index}`)),
      );
      await config.put("source", "quick", {});
      expect(happened).toEqual(["slow told: 1", "slow told: deleted", "quick told: 1"]);
      follow();
      await Promise.all(slow);
      expect(happened.slice(3).sort()).toEqual(["slow resolved: 0", "slow resolved: 1"]);
      end();
    });

    it("keeps a change that a watcher fails to apply", async () => {
      const { config } = (await openStore()).store;
      const ends = [
        config.watch(() => {
          throw new Error("a mistake");
        }),
        config.watch(() => Promise.reject(new Error("a failure"))),
      ];
      expect(await config.put("source", "s1", {}, 0)).toMatchObject({ version: 1 });
      expect(await config.delete("source", "s1")).toBe(true);
      for (const end of ends) end();
    });
  });
}
