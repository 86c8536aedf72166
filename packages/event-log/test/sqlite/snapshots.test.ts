import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, describe, expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import type { Snapshots } from "../../src/ports/snapshots.js";
import type { Store } from "../../src/ports/store.js";
import { DATABASE_FILE } from "../../src/sqlite/database/database-files.js";
import { openSqliteStore, type SqliteStoreOptions } from "../../src/sqlite/open-sqlite-store.js";
import { openSqliteProfileStore } from "../../src/sqlite/profiles/profiles.js";
import { PROFILES_FILE } from "../../src/sqlite/profiles/profiles-file.js";
import { batchOf, RECEIVED_AT_MS } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const STEP = 64 * 1024;

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

async function open(options: Partial<SqliteStoreOptions> = {}) {
  const clock = manualClock({ startMs: RECEIVED_AT_MS });
  const directory = options.directory ?? temporaryDirectory();
  const store = await openSqliteStore({
    directory,
    clock,
    ...options,
    // Small, so that segments are sealed and the write-ahead log is copied into the file all the time.
    tuning: { segmentMessages: 20, checkpointBytes: 32_768, syncLog: false },
  });
  opened.push(store);
  const append = async (from: number, count: number) => {
    const added = Array.from({ length: count }, (_, index) => {
      const no = from + index;
      const message = { messageId: `m${no}`, userId: `u${no % 7}`, properties: { text: "x".repeat(3_000) } };
      return store.log.append(batchOf([message], { receivedAtMs: RECEIVED_AT_MS }));
    });
    await Promise.all(added);
  };
  return { store, clock, directory, append, snapshots: store.snapshots as Snapshots };
}

async function idsIn(store: Store): Promise<string[]> {
  const batches = await store.log.read(BEFORE_FIRST, { messages: 1e6, bytes: 1 << 30 });
  return batches.flatMap(decodeBatch).map(({ messageId }) => messageId);
}

/** Reads a snapshot to its end, with other work between the steps, and stores it as a file in a new folder. */
async function copied(snapshots: Snapshots, file: string, between: (step: number) => Promise<unknown>) {
  const info = await snapshots.begin();
  const parts: Uint8Array[] = [];
  for (let at = 0, step = 0; at < info.bytes; at += STEP, step++) {
    await between(step);
    parts.push(await snapshots.read(at, STEP));
  }
  await snapshots.end();
  const directory = temporaryDirectory();
  const image = Buffer.concat(parts);
  expect(image.byteLength).toBe(info.bytes);
  writeFileSync(join(directory, file), image);
  const database = new DatabaseSync(join(directory, file));
  expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  database.close();
  return { directory, info };
}

describe("a snapshot of the log", () => {
  it("is the state of its beginning, whatever is written, purged, dropped and compacted meanwhile", async () => {
    const { store, clock, append, snapshots } = await open({
      // Retention runs when the clock is advanced. All messages are past the limit then.
      retention: { maxAgeMs: 5_000 },
      dedupeWindowMs: 5_000,
    });
    await append(0, 300);
    await store.config.put("source", "src_1", { name: "Before" });
    const before = await idsIn(store);
    expect(before).toHaveLength(300);
    const { directory, info } = await copied(snapshots, DATABASE_FILE, async (step) => {
      await append(300 + step * 3, 3);
      await store.config.put("source", "src_1", { name: `Step ${step}` });
      if (step === 1) await store.purge({ userId: "u3" });
      if (step === 2) {
        // Segments are sealed, dropped, and their pages given back.
        for (let round = 0; round < 4; round++) {
          await clock.advance(10_000);
          await store.compact();
        }
      }
    });
    expect(info).toMatchObject({ file: DATABASE_FILE, layout: 1 });
    expect((await idsIn(store)).length).toBeLessThan(300);
    const { store: restored } = await open({ directory });
    expect(await idsIn(restored)).toEqual(before);
    expect((await restored.config.get("source", "src_1"))?.value).toEqual({ name: "Before" });
  });

  it("is one at a time, and can be begun again", async () => {
    const { append, snapshots, store, directory } = await open();
    await append(0, 30);
    await snapshots.begin();
    await expect(snapshots.begin()).rejects.toMatchObject({ code: "conflict" });
    await append(30, 30);
    await snapshots.end();
    await expect(snapshots.read(0, STEP)).rejects.toThrow(/there is no snapshot/);
    const again = await copied(snapshots, DATABASE_FILE, async () => {});
    const { store: restored } = await open({ directory: again.directory });
    expect(await idsIn(restored)).toEqual(await idsIn(store));
    expect(readdirSync(directory)).not.toContain(`${DATABASE_FILE}-snapshot`);
  });

  it("ends when the log is cleared, and says so", async () => {
    const { append, snapshots, store } = await open();
    await append(0, 30);
    await snapshots.begin();
    await store.clear();
    await expect(snapshots.read(0, STEP)).rejects.toThrow(/there is no snapshot|the database was closed/);
    await append(30, 5);
    expect(await idsIn(store)).toHaveLength(5);
  });

  it.skipIf(process.platform === "win32")("keeps the lock of the data folder", async () => {
    const { snapshots, append, directory } = await open();
    await append(0, 5);
    await copied(snapshots, DATABASE_FILE, async () => {});
    // Closing a file would release the locks of the whole process, so only another process can tell.
    const script = `new (require("node:sqlite").DatabaseSync)(process.argv[1]).exec("BEGIN IMMEDIATE")`;
    const { status, stderr } = spawnSync(process.execPath, ["-e", script, join(directory, DATABASE_FILE)]);
    expect(status, String(stderr)).toBe(1);
    expect(String(stderr)).toMatch(/database is locked/);
  });
});

describe("a snapshot of the profiles", () => {
  it("is the state of its beginning", async () => {
    const directory = temporaryDirectory();
    const store = openSqliteProfileStore({ directory });
    opened.push(store);
    const put = (number: number, body: string) =>
      store.commit({
        profiles: [{ number, firstSeenMs: 0, lastSeenMs: 0, body: JSON.stringify({ body }) }],
        identities: [[`u:${number}`, number]],
      });
    for (let number = 1; number <= 200; number++) await put(number, "before".repeat(400));
    const { directory: other } = await copied(store.snapshots, PROFILES_FILE, async (step) => {
      for (let number = 1; number <= 400; number++) await put(number, `step ${step}`.repeat(900));
      if (step % 3 === 0) await store.compact();
    });
    expect(existsSync(join(directory, `${PROFILES_FILE}-snapshot`))).toBe(false);
    const restored = openSqliteProfileStore({ directory: other });
    opened.push(restored);
    expect(await restored.count()).toBe(200);
    const [record] = await restored.load([17]);
    expect(record?.body).toBe(JSON.stringify({ body: "before".repeat(400) }));
  });
});
