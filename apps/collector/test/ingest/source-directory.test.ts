import type { ConfigStore } from "@sluice/event-log";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import { memoryConfigStore } from "@sluice/event-log/testing";
import { expect, test } from "vitest";
import type { SourceDocument } from "../../src/documents/documents.js";
import { openSourceDirectory } from "../../src/ingest/sources/source-directory.js";

const CREATED_AT = "2026-11-21T00:00:00.000Z";

function shop(...keys: readonly string[]): SourceDocument {
  return {
    name: "Shop",
    kind: "web",
    createdAt: CREATED_AT,
    writeKeys: keys.map((key) => ({ key, createdAt: CREATED_AT })),
    blockedEvents: [],
  };
}

function put(config: ConfigStore, id: string, ...keys: readonly string[]): Promise<unknown> {
  return config.put(DOCUMENT_KINDS.source, id, shop(...keys));
}

/** Runs everything that is ready. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("finds a source by each key as soon as the change resolves, with a new version", async () => {
  const config = memoryConfigStore();
  await put(config, "shop", "wk_1");
  const directory = await openSourceDirectory(config);
  expect(directory.find("wk_1")).toEqual({ id: "shop", kind: "web" });
  const { version } = directory;
  await put(config, "shop", "wk_2", "wk_3");
  expect(directory.find("wk_1")).toBeUndefined();
  expect(directory.find("wk_3")).toEqual({ id: "shop", kind: "web" });
  expect(directory.version).not.toBe(version);
  await config.delete(DOCUMENT_KINDS.source, "shop");
  expect(directory.find("wk_2")).toBeUndefined();
  directory.close();
});

test("a change during the initial read is not overwritten by it", async () => {
  const config = memoryConfigStore();
  await put(config, "shop", "wk_1");
  await put(config, "gone", "wk_gone");
  const slow: ConfigStore = {
    ...config,
    async list<T>(kind: string) {
      const documents = await config.list<T>(kind);
      await put(config, "shop", "wk_2");
      await config.delete(DOCUMENT_KINDS.source, "gone");
      return documents;
    },
  };
  const directory = await openSourceDirectory(slow);
  expect(["wk_1", "wk_2", "wk_gone"].map((key) => directory.find(key)?.id)).toEqual([
    undefined,
    "shop",
    undefined,
  ]);
  directory.close();
});

test("a change waits for messages that were admitted before it, and not for later ones", async () => {
  const config = memoryConfigStore();
  await put(config, "shop", "wk_1");
  const directory = await openSourceDirectory(config);
  const happened: string[] = [];
  const endFirst = directory.begin();
  const changes = ["wk_2", "wk_3"].map(async (key) => {
    await put(config, "shop", key);
    happened.push(key);
  });
  const endLater = directory.begin();
  expect(directory.find("wk_3")).toEqual({ id: "shop", kind: "web" });
  await turn();
  expect(happened).toEqual([]);
  endFirst();
  await Promise.all(changes);
  expect(happened).toEqual(["wk_2", "wk_3"]);
  endLater();
  await put(config, "shop", "wk_4");
  directory.close();
});
