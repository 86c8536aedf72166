import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryProfileStore, openSqliteProfileStore } from "@sluice/event-log";
import { profileStoreContract } from "@sluice/event-log/testing";
import { expect, test } from "vitest";

const SEEN = { firstSeenMs: 10, lastSeenMs: 20 };

profileStoreContract("memory", async () => {
  const store = memoryProfileStore();
  return { store, reopen: async () => store, dispose: () => store.close() };
});

profileStoreContract("sqlite", async () => {
  const directory = await mkdtemp(join(tmpdir(), "sluice-profiles-"));
  let store = openSqliteProfileStore({ directory });
  return {
    store,
    reopen: async () => {
      await store.close();
      store = openSqliteProfileStore({ directory });
      return store;
    },
    dispose: async () => {
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
});

test("what was removed is in no byte of the files after compaction", async () => {
  const directory = await mkdtemp(join(tmpdir(), "sluice-profiles-"));
  const store = openSqliteProfileStore({ directory });
  const marker = "marker-6f1d0c";
  const holds = async (): Promise<boolean> => {
    const files = await readdir(directory);
    const contents = await Promise.all(files.map((file) => readFile(join(directory, file))));
    return contents.some((bytes) => bytes.includes(marker));
  };
  try {
    // Long bodies go to overflow pages, and each version of them through the write-ahead log.
    for (const length of [10, 5_000, 100]) {
      const body = JSON.stringify({ id: marker, traits: marker.repeat(length) });
      await store.commit({
        profiles: [
          { number: 1, ...SEEN, body },
          { number: 2, ...SEEN, body: "{}" },
        ],
        identities: [[`u:${marker}`, 1]],
        pending: [{ seq: length, profile: 1, destinationIds: [], message: marker }],
      });
    }
    expect(await holds()).toBe(true);
    await store.commit({ removedProfiles: [1], identities: [[`u:${marker}`, undefined]], withdrawn: [1] });
    await store.compact();
    expect(await holds()).toBe(false);
    expect(await store.count()).toBe(1);
  } finally {
    await store.close();
    await rm(directory, { recursive: true });
  }
});

test("two processes cannot have the same profiles", async () => {
  const directory = await mkdtemp(join(tmpdir(), "sluice-profiles-"));
  const store = openSqliteProfileStore({ directory });
  try {
    await store.commit({ documents: [["a", "1"]] });
    expect(() => openSqliteProfileStore({ directory })).toThrow(/locked/);
  } finally {
    await store.close();
    await rm(directory, { recursive: true });
  }
});
