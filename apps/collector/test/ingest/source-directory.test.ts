import { expect, test } from "vitest";
import { openSourceDirectory } from "../../src/ingest/source-directory.js";
import { DOCUMENT_KINDS, type SourceDocument } from "../../src/store/documents.js";
import type { ConfigStore } from "../../src/store/store.js";

const SHOP: SourceDocument = {
  name: "Shop",
  kind: "web",
  createdAt: "2026-11-21T00:00:00.000Z",
  writeKeys: [{ key: "wk_shop", createdAt: "2026-11-21T00:00:00.000Z" }],
  blockedEvents: [],
};

test("requests that come in while a change is read wait for that reading, and do not make it begin anew", async () => {
  let readings = 0;
  let announce: () => void = () => {};
  let duringReading: () => void = () => {};
  const config = {
    async list() {
      readings++;
      duringReading();
      return [{ id: "shop", version: 1, value: SHOP }];
    },
    watch(listener: (change: { kind: string; id: string }) => void) {
      announce = () => listener({ kind: DOCUMENT_KINDS.source, id: "shop" });
      return () => {};
    },
  } as unknown as ConfigStore;
  const directory = await openSourceDirectory(config);
  // Load that does not wait for answers: each reading of the configuration sees another request.
  duringReading = () => {
    if (readings < 100) queueMicrotask(() => directory.find("wk_shop"));
  };
  readings = 0;
  announce();
  expect(await directory.find("wk_shop")).toMatchObject({ id: "shop" });
  expect(readings).toBe(1);
  expect(directory.find("wk_shop")).toMatchObject({ id: "shop" });
  directory.close();
});

test("a change that is announced while one is read is read too", async () => {
  let readings = 0;
  let announce: () => void = () => {};
  const config = {
    async list() {
      readings++;
      const value = readings < 3 ? SHOP : { ...SHOP, writeKeys: [] };
      await Promise.resolve();
      if (readings === 2) announce();
      return [{ id: "shop", version: readings, value }];
    },
    watch(listener: (change: { kind: string; id: string }) => void) {
      announce = () => listener({ kind: DOCUMENT_KINDS.source, id: "shop" });
      return () => {};
    },
  } as unknown as ConfigStore;
  const directory = await openSourceDirectory(config);
  announce();
  expect(await directory.find("wk_shop")).toBeUndefined();
  directory.close();
});

test("a reading that failed is made up for by the next look-up", async () => {
  let fails = false;
  let announce: () => void = () => {};
  const config = {
    async list() {
      if (fails) throw new Error("the disk");
      return [{ id: "shop", version: 1, value: SHOP }];
    },
    watch(listener: (change: { kind: string; id: string }) => void) {
      announce = () => listener({ kind: DOCUMENT_KINDS.source, id: "shop" });
      return () => {};
    },
  } as unknown as ConfigStore;
  const directory = await openSourceDirectory(config);
  fails = true;
  announce();
  await expect(directory.find("wk_shop")).rejects.toThrow("the disk");
  fails = false;
  expect(await directory.find("wk_shop")).toMatchObject({ id: "shop" });
  directory.close();
});
