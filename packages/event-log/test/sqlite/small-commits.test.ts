import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, describe, expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import type { Store } from "../../src/ports/store.js";
import type { StoreTuning } from "../../src/sqlite/calls/tuning.js";
import { pageWaste } from "../../src/sqlite/log/page-waste.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { batchOf, idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const opened: Store[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

async function open(directory: string, tuning: Partial<StoreTuning> = {}, dedupeWindowMs?: number) {
  const clock = manualClock({ startMs: RECEIVED_AT_MS });
  const store = await openSqliteStore({
    directory,
    clock,
    ...(dedupeWindowMs === undefined ? {} : { dedupeWindowMs }),
    tuning: { syncLog: false, ...tuning },
  });
  opened.push(store);
  return { store, clock };
}

async function idsIn(store: Store): Promise<string[]> {
  const batches = await store.log.read(BEFORE_FIRST, { messages: 1e6, bytes: 1 << 30 });
  return batches.flatMap(decodeBatch).map(({ messageId }) => messageId);
}

const rowsIn = (directory: string): number => {
  const database = new DatabaseSync(join(directory, "sluice.db"), { readOnly: true });
  const { rows } = database.prepare("SELECT count(*) AS rows FROM log_rows").get() as { rows: number };
  database.close();
  return rows;
};

describe("the page waste of a row", () => {
  it.each([
    100, 600, 3_000, 8_150, 8_200, 12_000, 16_300, 16_330, 16_360, 24_000, 24_700, 25_200, 32_700, 42_000,
    57_440, 60_000, 130_000,
  ])("matches SQLite for rows of %d bytes", (bytes) => {
    const database = new DatabaseSync(":memory:");
    database.exec(
      "PRAGMA page_size = 16384; CREATE TABLE r (first INTEGER PRIMARY KEY, meta BLOB NOT NULL, body BLOB NOT NULL)",
    );
    const put = database.prepare("INSERT INTO r VALUES (?, ?, ?)");
    const pages = () => (database.prepare("PRAGMA page_count").get() as { page_count: number }).page_count;
    const rows = Math.ceil(4_000_000 / bytes);
    const before = pages();
    database.exec("BEGIN");
    for (let i = 0; i < rows; i++)
      put.run(1_000_000_000 + i, Buffer.alloc(50, 1), Buffer.alloc(bytes - 50, 2));
    database.exec("COMMIT");
    const waste = 1 - (rows * bytes) / ((pages() - before) * 16_384);
    database.close();
    expect(pageWaste(bytes, 16_384)).toBeGreaterThan(waste - 0.04);
    expect(pageWaste(bytes, 16_384)).toBeLessThan(waste + 0.04);
  });
});

describe("consecutive small commits", () => {
  it.each([1, 4, 5, 8, 10, 14, 20, 21, 27, 42, 45, 70, 95, 100])(
    "take at most 700 bytes for a message of 600, with %d messages a commit",
    async (perCommit) => {
      const directory = temporaryDirectory();
      const size = () => statSync(join(directory, "sluice.db")).size;
      const { store } = await open(directory);
      let next = 0;
      const append = async (count: number) => {
        for (let appended = 0; appended < count; appended += perCommit) {
          const messages = Array.from({ length: perCommit }, () => {
            const messageId = `message-${next++}`;
            return { messageId, userId: `user-${next % 500}`, text: "x".repeat(510 - messageId.length) };
          });
          await store.log.append(batchOf(messages));
        }
        // Between commits, a checkpoint copies the write-ahead log to the database.
        await store.compact();
      };
      await append(perCommit);
      const before = size();
      const counted = next;
      await append(2_000);
      expect(JSON.stringify({ type: "track", event: "Ordered", userId: "user-100" }).length).toBeLessThan(90);
      expect((size() - before) / (next - counted)).toBeLessThan(700);
    },
  );

  it("share few rows, are read and found individually, and continue after a restart", async () => {
    const directory = temporaryDirectory();
    const { store } = await open(directory);
    const ids = Array.from({ length: 60 }, (_, i) => `m${i}`);
    for (const id of ids.slice(0, 30)) await store.log.append(idsBatch([id]));
    expect(await idsIn(store)).toEqual(ids.slice(0, 30));
    await store.close();
    expect(rowsIn(directory)).toBeLessThan(3);
    const { store: again } = await open(directory);
    for (const id of ids.slice(30)) await again.log.append(idsBatch([id, id, "m3"]));
    expect(await idsIn(again)).toEqual(ids);
    for (const messageId of ["m0", "m29", "m30", "m59"]) {
      const { items } = await again.log.find({ messageId }, { limit: 2 });
      expect(items.map((item) => item.messageId)).toEqual([messageId]);
    }
    const [first] = await again.log.read(BEFORE_FIRST, { messages: 1, bytes: 1 });
    expect(first && decodeBatch(first).map(({ messageId }) => messageId)).toEqual(["m0"]);
  });

  it("do not restore a message that was purged between them", async () => {
    const directory = temporaryDirectory();
    const { store } = await open(directory);
    await store.log.append(batchOf([{ messageId: "a", userId: "gone", text: "private" }]));
    await store.log.append(batchOf([{ messageId: "b", userId: "stays" }]));
    expect((await store.purge({ userId: "gone" })).messages).toBe(1);
    await store.log.append(batchOf([{ messageId: "c", userId: "stays" }]));
    expect(await idsIn(store)).toEqual(["b", "c"]);
  });

  it.each([
    ["it is full", { segmentMessages: 3 }, undefined],
    ["its first message is too old", {}, 80_000],
  ])("begin a new row in a new segment: %s", async (_case, tuning, dedupeWindowMs) => {
    const directory = temporaryDirectory();
    const { store, clock } = await open(directory, tuning, dedupeWindowMs);
    const ids = Array.from({ length: 10 }, (_, i) => `m${i}`);
    for (const id of ids) {
      await store.log.append(idsBatch([id], { receivedAtMs: clock.now() }));
      await clock.advance(10_000);
    }
    expect(await idsIn(store)).toEqual(ids);
    await store.close();
    expect(rowsIn(directory)).toBeGreaterThan(3);
  });
});
