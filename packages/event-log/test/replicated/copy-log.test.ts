import { expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/message/offset.js";
import type { CopyLog } from "../../src/replicated/copy/copy-log.js";
import { idsBatch } from "../batches.js";
import { FOREVER, leadSafely, testClusters, untilStatus } from "./cluster.js";

const newCluster = testClusters();
const ALL = { messages: 1_000, bytes: 1e9 };

/** Resolves when the log may be read. */
async function complete(log: CopyLog): Promise<void> {
  while (!log.isComplete)
    await new Promise<void>((resolve) => {
      const stop = log.onAppend(() => {
        stop();
        resolve();
      });
    });
}

async function idsOf(log: CopyLog): Promise<readonly string[]> {
  const batches = await log.read(BEFORE_FIRST, ALL);
  return batches.map(({ sourceId, first }) => `${sourceId} ${first}`);
}

it("reads the log of a follower's copy, of sources that came later too", async () => {
  const cluster = newCluster();
  const [a, b] = [await cluster.open("a"), await cluster.open("b")];
  const { store } = await leadSafely(a);
  await store.log.append(idsBatch(["x"]));
  const { log } = b;
  await complete(log);
  await b.caughtUp(FOREVER);
  expect([log.head(), await idsOf(log)]).toEqual([0, ["src_1 0"]]);

  const appended = new Promise<void>((resolve) => log.onAppend(resolve));
  await store.log.append(idsBatch(["y", "z"], { sourceId: "src_2" }));
  await appended;
  expect([log.head(), await idsOf(log)]).toEqual([2, ["src_1 0", "src_2 1"]]);
  const found = await log.find({ messageId: "z", sourceId: "src_2" }, { limit: 1 });
  expect(found.items.map(({ offset }) => offset)).toEqual([2]);
  expect(await log.get(found.items[0]?.offset ?? BEFORE_FIRST)).toMatchObject({ messageId: "z" });
});

it("reads on while the copy leads, and notices each change of a document", async () => {
  const cluster = newCluster();
  const [a, b] = [await cluster.open("a"), await cluster.open("b")];
  await complete(a.log);
  const { store, profiles } = await leadSafely(a);
  await store.log.append(idsBatch(["x"]));
  expect([a.log.head(), await idsOf(a.log)]).toEqual([0, ["src_1 0"]]);
  await b.caughtUp(FOREVER);
  const seen = new Set([b.log.documentChanges]);
  await store.config.put("suppression", "1", {});
  await b.caughtUp(FOREVER);
  seen.add(b.log.documentChanges);
  await store.config.delete("suppression", "1");
  await b.caughtUp(FOREVER);
  seen.add(b.log.documentChanges);
  expect(seen.size).toBe(3);
  await profiles.commit({ documents: [["cursor:1", "7"]] });
  await b.caughtUp(FOREVER);
  expect(await b.profileDocuments()).toEqual(new Map([["cursor:1", "7"]]));
});

it("refuses to read a copy that is being replaced, and goes on with the new one", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const { store } = await leadSafely(a);
  await store.log.append(idsBatch(["x"]));
  cluster.engines.log.trim(2);
  const b = await cluster.open("b");
  const { log } = b;
  await untilStatus(b, ({ problem }) => problem !== undefined);
  expect(log.isComplete).toBe(false);
  await expect(log.read(BEFORE_FIRST, ALL)).rejects.toThrow("is being brought up to date");
  const before = log.documentChanges;
  await a.snapshot();
  await complete(log);
  expect([log.head(), await idsOf(log)]).toEqual([0, ["src_1 0"]]);
  expect(log.documentChanges).not.toBe(before);
});
