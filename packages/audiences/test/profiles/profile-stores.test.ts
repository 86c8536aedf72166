import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open as openFile, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryProfileStore, openSqliteProfileStore, type ProfileCommit } from "@sluice/event-log";
import { profileStoreContract } from "@sluice/event-log/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

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

test("opening waits for the last holder of the file, which is ending", async () => {
  const directory = await mkdtemp(join(tmpdir(), "sluice-profiles-"));
  // It ends by itself, because this thread stands still while it opens the file.
  const script = `
    const database = new (require("node:sqlite").DatabaseSync)(process.argv[1]);
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; CREATE TABLE t (a)");
    console.log("held");
    setTimeout(() => {}, 300);`;
  const holder = spawn(process.execPath, ["-e", script, join(directory, "profiles.db")]);
  await once(holder.stdout, "data");
  const store = openSqliteProfileStore({ directory });
  expect(await store.pending(1)).toEqual([]);
  await store.close();
  await rm(directory, { recursive: true });
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

describe("the file of profiles", () => {
  let directory: string;
  const asides: string[] = [];
  const open = () =>
    openSqliteProfileStore({ directory, cacheKib: 64, onSetAside: (_name, when) => asides.push(when) });
  const profile = (number: number) => ({
    number,
    ...SEEN,
    body: JSON.stringify({ fill: "x".repeat(3_000) }),
  });
  const FAILING: ProfileCommit = {
    documents: [["failed", "1"]],
    profiles: [{ number: 9, ...SEEN, body: undefined as unknown as string }],
  };

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "sluice-profiles-"));
    asides.length = 0;
  });
  afterEach(() => rm(directory, { recursive: true }));

  test("is opened again after each call that failed, and has nothing of that call", async () => {
    const store = open();
    await store.commit({ documents: [["before", "1"]] });
    for (let failure = 0; failure < 2; failure++)
      await expect(store.commit(FAILING)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect([...(await store.documents()).keys()]).toEqual(["before"]);
    await store.commit({ documents: [["after", "1"]] });
    expect([...(await store.documents()).keys()].sort()).toEqual(["after", "before"]);
    expect(asides).toEqual([]);
    await store.close();
  });

  test("ends a snapshot with the call that failed, and begins another one", async () => {
    const store = open();
    await store.commit({ profiles: [profile(1)] });
    await store.snapshots.begin();
    await expect(store.commit(FAILING)).rejects.toMatchObject({ code: "storage_unavailable" });
    await expect(store.snapshots.read(0, 65_536)).rejects.toMatchObject({ code: "storage_unavailable" });
    const { bytes } = await store.snapshots.begin();
    expect((await store.snapshots.read(0, 65_536)).byteLength).toBe(Math.min(bytes, 65_536));
    await store.snapshots.end();
    await store.snapshots.end();
    await store.close();
  });

  test("is set aside once if it turns out to be damaged, and refuses everything until it is opened again", async () => {
    let store = open();
    for (let first = 0; first < 400; first += 50)
      await store.commit({ profiles: Array.from({ length: 50 }, (_, index) => profile(first + index)) });
    await store.close();
    store = open();
    const file = await openFile(join(directory, "profiles.db"), "r+");
    // What bad blocks of a disk leave, behind the pages that opening reads.
    await file.write(new Uint8Array(400 * 1_024), 0, undefined, 200 * 1_024);
    await file.close();
    for (let call = 0; call < 2; call++)
      await expect(store.checkWhole()).rejects.toMatchObject({ code: "storage_unavailable" });
    await expect(store.commit({ documents: [["late", "1"]] })).rejects.toThrow(/rebuilt from the log/);
    expect(asides).toEqual(["later"]);
    await store.close();
    await store.close();
    store = open();
    expect([await store.count(), (await store.documents()).size]).toEqual([0, 0]);
    await store.close();
  });

  test("refuses everything once it is closed, a second time too", async () => {
    const store = open();
    await store.close();
    await store.close();
    const calls = [
      () => store.cursor(),
      () => store.commit({}),
      () => store.compact(),
      () => store.checkWhole(),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow("the profiles are closed");
  });
});
