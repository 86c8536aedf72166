import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@sluice/resilience";
import { expect, it, onTestFinished } from "vitest";
import { userIdentity } from "../../src/message/identity.js";
import type { Store } from "../../src/ports/store.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { idsBatch } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();

async function open(): Promise<{ store: Store; directory: string }> {
  const directory = temporaryDirectory();
  const store = await openSqliteStore({ directory, clock: systemClock });
  onTestFinished(() => store.close());
  return { store, directory };
}

/** Appends messages until `work` has ended. Returns the number of commits. */
async function servedDuring(store: Store, work: Promise<unknown>): Promise<number> {
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  let served = 0;
  for (; !isDone; served++) await store.log.append(idsBatch([`served${served}`]));
  await ended;
  return served;
}

it("serves commits during a compaction, and returns free pages", async () => {
  const { store, directory } = await open();
  const text = "x".repeat(1024 * 1024);
  for (let i = 0; i < 24; i++) await store.config.put("big", `b${i}`, { text });
  for (let i = 0; i < 24; i++) await store.config.delete("big", `b${i}`);
  const served = await servedDuring(store, store.compact());
  // 24 MiB of free pages are returned in steps of one MiB.
  expect(served).toBeGreaterThanOrEqual(5);
  const bytes = readdirSync(directory).reduce((sum, file) => sum + statSync(join(directory, file)).size, 0);
  expect(bytes).toBeLessThan(4 * 1024 * 1024);
});

it("resolves each of several compactions", async () => {
  const { store } = await open();
  await store.log.append(idsBatch(["a"]));
  await Promise.all([store.compact(), store.compact(), store.compact()]);
});

it("checks refused messages in steps, however many ids a user has", async () => {
  const { store } = await open();
  const excerptOf = (id: string) => JSON.stringify({ userId: id, filler: "x".repeat(3_500) });
  for (let i = 0; i < 4_000; i += 400) {
    store.rejections.add(
      Array.from({ length: 400 }, (_, k) => ({
        sourceId: "src_1",
        receivedAtMs: 1,
        issues: [],
        excerpt: excerptOf(`user-${i + k}`),
      })),
    );
    // The number of pending ones is limited; others would be discarded.
    while ((await store.rejections.find({}, { limit: 10_000 })).items.length < i + 400);
  }
  const userIds = Array.from({ length: 300 }, (_, i) => `user-${i * 10}`);
  const served = await servedDuring(store, store.purge({ identities: userIds.map(userIdentity) }));
  expect(served).toBeGreaterThanOrEqual(20);
  const left = (await store.rejections.find({}, { limit: 10_000 })).items.map(({ excerpt }) => excerpt);
  expect(left).toHaveLength(3_700);
  expect(userIds.filter((id) => left.includes(excerptOf(id)))).toEqual([]);
});
