import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "@sluice/resilience";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, describe, expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import type { Store } from "../../src/ports/store.js";
import { openSqliteStore, type SqliteStoreOptions } from "../../src/sqlite/open-sqlite-store.js";
import { repairStore } from "../../src/sqlite/repair/repair-store.js";
import { batchOf, idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { Ledger, startChild } from "../crash/ledger.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();

const opened: Store[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

async function open(directory: string, options: Partial<SqliteStoreOptions> = {}): Promise<Store> {
  const store = await openSqliteStore({ directory, clock: systemClock, ...options });
  opened.push(store);
  return store;
}

async function idsIn(store: Store): Promise<string[]> {
  const batches = await store.log.read(BEFORE_FIRST, { messages: 1e6, bytes: 1 << 30 });
  return batches.flatMap(decodeBatch).map(({ messageId }) => messageId);
}

describe("a data folder", () => {
  it.each([
    ["in one segment", {}],
    ["in many segments", { segmentMessages: 10, checkpointBytes: 16_384 }],
  ])("has everything after a restart, %s", async (_case, tuning) => {
    const directory = join(temporaryDirectory(), "made", "by", "us");
    const before = await open(directory, { tuning });
    const ids = Array.from({ length: 100 }, (_, i) => `m${i}`);
    for (const id of ids) await before.log.append(idsBatch([id], { sourceId: `src_${id.length}` }));
    await before.consumers.open("dst_1", BEFORE_FIRST);
    await before.consumers.settle("dst_1", {
      cursor: 40 as Offset,
      outcomes: [
        { offset: 40 as Offset, state: "failed", reason: "nul \0 and ✗", atMs: RECEIVED_AT_MS },
        { offset: 42 as Offset, state: "delivered", reason: "200", atMs: RECEIVED_AT_MS },
      ],
      retries: [
        {
          offset: 41 as Offset,
          rounds: 2,
          firstAttemptAtMs: 5,
          dueAtMs: 6,
          reason: "503",
          doneUrls: ["https://a.example/"],
          failedUrls: ["https://a.example/"],
          replay: false,
        },
      ],
      attempts: [
        {
          offset: 40 as Offset,
          attempt: 1,
          atMs: 7,
          url: "https://a.example/",
          latencyMs: 1.5,
          response: "\0é",
        },
      ],
    });
    await before.config.put("source", "s1", { name: "Shop" });
    await before.config.put("source", "s1", { name: "Shop 2" });
    before.rejections.add([{ sourceId: "src_1", receivedAtMs: 1, issues: [], excerpt: "{}" }]);
    const usage = await before.usage.days("src_2");
    const attempts = await before.consumers.attemptsOf("dst_1", 40 as Offset);
    const deliveries = await before.consumers.list({}, { limit: 10 });
    const { messages } = before.stats();
    await before.close();

    const after = await open(directory, { tuning });
    expect(await idsIn(after)).toEqual(ids);
    expect(after.log.head()).toBe(99);
    expect(after.stats().messages).toBe(messages);
    for (const id of ["m0", "m57", "m99"]) {
      const { items } = await after.log.find({ messageId: id }, { limit: 5 });
      expect(items.map(({ messageId }) => messageId)).toEqual([id]);
    }
    expect((await after.log.append(idsBatch(ids, { sourceId: "src_3" }))).duplicates).toHaveLength(90);
    expect(await after.consumers.open("dst_1", BEFORE_FIRST)).toEqual({
      cursor: 40,
      settledAhead: [41, 42],
      retries: 1,
    });
    expect(await after.consumers.attemptsOf("dst_1", 40 as Offset)).toEqual(attempts);
    expect((await after.consumers.list({}, { limit: 10 })).items).toEqual(deliveries.items);
    expect(await after.config.get("source", "s1")).toEqual({
      id: "s1",
      version: 2,
      value: { name: "Shop 2" },
    });
    expect((await after.rejections.find({}, { limit: 9 })).items).toHaveLength(1);
    expect(await after.usage.days("src_2")).toEqual(usage);
  });

  it("consists of one file after closing", async () => {
    const directory = temporaryDirectory();
    const store = await open(directory);
    await store.log.append(idsBatch(["a"]));
    await store.close();
    expect(readdirSync(directory)).toEqual(["sluice.db"]);
  });

  it("recovers if it was killed between sealing a segment and deleting its tail", async () => {
    const directory = temporaryDirectory();
    const tuning = { segmentMessages: 4 };
    const before = await open(directory, { tuning });
    const ids = Array.from({ length: 10 }, (_, i) => `m${i}`);
    for (const id of ids) await before.log.append(idsBatch([id]));
    // Segments are sealed in steps between commits.
    for (let turn = 0; turn < 200; turn++) await before.config.put("nothing", "n", 0);
    await before.close();
    const database = new DatabaseSync(join(directory, "sluice.db"));
    const { no } = database.prepare("SELECT max(no) AS no FROM segments").get() as { no: number };
    const left = { first: (no - 1) * 4, segment: no };
    database
      .prepare(
        `INSERT OR REPLACE INTO tail (first, segment, "end", bytes, min_ms, max_ms, keys)
         SELECT :first, :segment, :first + 1, bytes, min_ms, max_ms, keys FROM tail LIMIT 1`,
      )
      .run(left);
    database.close();

    const after = await open(directory, { tuning });
    expect(after.stats().messages).toBe(10);
    expect(await idsIn(after)).toEqual(ids);
    expect((await after.log.append(idsBatch([...ids, "new"]))).duplicates).toHaveLength(10);
    for (let turn = 0; turn < 20; turn++) await after.config.put("nothing", "n", 0);
    await after.close();
    const afterwards = new DatabaseSync(join(directory, "sluice.db"));
    expect(afterwards.prepare("SELECT * FROM tail WHERE segment = ?").all(left.segment)).toEqual([]);
    afterwards.close();
  });

  it("keeps the page size with which an older version created it", async () => {
    const directory = temporaryDirectory();
    const older = new DatabaseSync(join(directory, "sluice.db"));
    older.exec("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; CREATE TABLE t (x); DROP TABLE t");
    older.close();
    const tuning = { segmentMessages: 4, checkpointBytes: 16_384 };
    const ids = Array.from({ length: 40 }, (_, i) => `m${i}`);
    const before = await open(directory, { tuning });
    for (const id of ids) await before.log.append(idsBatch([id]));
    await before.close();
    expect(await idsIn(await open(directory, { tuning }))).toEqual(ids);
    expect(readFileSync(join(directory, "sluice.db")).readUInt16BE(16)).toBe(8192);
  });

  it("empties its write-ahead log when nothing is written for a while", async () => {
    const directory = temporaryDirectory();
    const clock = manualClock();
    const store = await open(directory, { clock });
    await store.log.append(idsBatch(["a"]));
    const logBytes = () => statSync(join(directory, "sluice.db-wal")).size;
    // The retention that runs every ten seconds commits, then empties it.
    do {
      await clock.advance(10_000);
      await store.log.get(0 as Offset);
    } while (logBytes() > 0);
    await store.log.append(idsBatch(["b"]));
    expect(await idsIn(store)).toEqual(["a", "b"]);
  });

  it("forgets a message's id after the dedupe window, when a new segment has started", async () => {
    const directory = temporaryDirectory();
    const clock = manualClock();
    const store = await open(directory, { clock, dedupeWindowMs: 60_000, tuning: { segmentMessages: 2 } });
    const append = (ids: readonly string[]) =>
      store.log.append(idsBatch([...ids], { receivedAtMs: clock.now() }));
    await append(["a", "b"]);
    await clock.advance(59_000);
    await append(["c", "d"]);
    await clock.advance(999);
    expect(await append(["a"])).toEqual({ duplicates: [0] });
    await clock.advance(30_001);
    await append(["e", "f"]);
    expect(await append(["a", "c"])).toEqual({ duplicates: [1] });
  });
});

describe("a folder that must not be opened", () => {
  it("is refused while this process uses it, and free again after closing", async () => {
    const directory = temporaryDirectory();
    const store = await open(directory);
    await expect(open(directory)).rejects.toThrow(/in use by another process/);
    await store.log.append(idsBatch(["a"]));
    await store.close();
    expect(await idsIn(await open(directory))).toEqual(["a"]);
  });

  it("is refused while another process uses it, and free as soon as that is killed", async () => {
    const directory = temporaryDirectory();
    const ledger = new Ledger();
    const child = startChild({ directory, run: "lock" }, ledger);
    await child.said((line) => line.startsWith("a "));
    await expect(open(directory)).rejects.toMatchObject({
      code: "storage_unavailable",
      message: expect.stringContaining(`the data folder ${directory} is in use by another process`),
    });
    const second = startChild({ directory, run: "second" }, new Ledger());
    expect((await second.ended).code).toBe(3);
    expect(second.lines[0]).toContain("in use by another process");
    child.kill("SIGKILL");
    await child.ended;
    const ids = await idsIn(await open(directory));
    expect([...ledger.acknowledged].filter((id) => !ids.includes(id))).toEqual([]);
  });

  it("is refused when a newer version wrote it", async () => {
    const directory = temporaryDirectory();
    await (await open(directory)).close();
    const database = new DatabaseSync(join(directory, "sluice.db"));
    database.exec("PRAGMA user_version = 999");
    database.close();
    await expect(open(directory)).rejects.toThrow(/written by a newer version: its layout is 999/);
  });

  it("is refused if its database belongs to another program, or is not a database", async () => {
    const others = temporaryDirectory();
    const database = new DatabaseSync(join(others, "sluice.db"));
    database.exec("CREATE TABLE t (x); PRAGMA user_version = 1");
    database.close();
    await expect(open(others)).rejects.toThrow(/another program/);
    const text = temporaryDirectory();
    writeFileSync(join(text, "sluice.db"), "not a database at all ".repeat(1000));
    await expect(open(text)).rejects.toThrow(/is damaged/);
    const file = join(temporaryDirectory(), "file");
    writeFileSync(file, "");
    await expect(open(file)).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  it("is refused if its database is truncated", async () => {
    const directory = temporaryDirectory();
    const store = await open(directory);
    for (let i = 0; i < 50; i++) await store.log.append(idsBatch([`m${i}`], { sourceId: "s".repeat(500) }));
    await store.close();
    const file = join(directory, "sluice.db");
    truncateSync(file, statSync(file).size - 3 * 8192);
    await expect(open(directory)).rejects.toThrow(/damaged/);
  });
});

const MEGABYTE = 1_048_576;

describe("a damaged row", () => {
  async function withDamagedRow(offset: number, tuning: object, text = ""): Promise<string> {
    const directory = temporaryDirectory();
    const store = await open(directory, { tuning: { rowBytes: 1, ...tuning } });
    for (let i = 0; i < 12; i++) await store.log.append(batchOf([{ messageId: `m${i}`, event: text }]));
    await store.close();
    const database = new DatabaseSync(join(directory, "sluice.db"));
    const { body } = database.prepare("SELECT body FROM log_rows WHERE first = ?").get(offset) as {
      body: Uint8Array;
    };
    body[20] = (body[20] ?? 0) ^ 1;
    database.prepare("UPDATE log_rows SET body = ? WHERE first = ?").run(body, offset);
    database.close();
    return directory;
  }

  it("prevents opening if it is among the newest", async () => {
    const directory = await withDamagedRow(3, {});
    await expect(open(directory)).rejects.toThrow(/row at offset 3 is damaged/);
  });

  it("prevents opening if it is missing, wherever it was in the newest segment", async () => {
    const directory = await withDamagedRow(11, {}, "x".repeat(MEGABYTE));
    const database = new DatabaseSync(join(directory, "sluice.db"));
    database.exec("DELETE FROM log_rows WHERE first = 1");
    database.close();
    await expect(open(directory)).rejects.toThrow(/row at offset 1 is damaged/);
  });

  it.each([
    ["in another segment", { segmentMessages: 4 }, ""],
    ["before the last eight megabytes", {}, "x".repeat(MEGABYTE)],
  ])("fails only its own reads if it is older: %s", async (_, tuning, text) => {
    const directory = await withDamagedRow(2, tuning, text);
    const store = await open(directory, { tuning });
    await expect(store.log.get(2 as Offset)).rejects.toThrow(/row at offset 2 is damaged/);
    expect(await idsIn(store)).toEqual(["m0", "m1"]);
    expect((await store.log.get(5 as Offset))?.messageId).toBe("m5");
    expect(await store.log.append(idsBatch(["new"]))).toMatchObject({ duplicates: [] });
    expect(store.health()).toEqual({ kind: "ready" });
  });
});

describe("repairing the log", () => {
  /** The log's rows of twelve messages, one each, after a change. */
  async function after(damage: (database: DatabaseSync) => void, tuning: object): Promise<string> {
    const directory = temporaryDirectory();
    const store = await open(directory, { tuning: { rowBytes: 1, ...tuning } });
    for (let i = 0; i < 12; i++) await store.log.append(idsBatch([`m${i}`]));
    // Segments are sealed in steps between commits.
    for (let turn = 0; turn < 200; turn++) await store.config.put("nothing", "n", 0);
    await store.close();
    const database = new DatabaseSync(join(directory, "sluice.db"));
    damage(database);
    database.close();
    return directory;
  }
  const garble = (first: number) => (database: DatabaseSync) => {
    const row = database.prepare("SELECT body FROM log_rows WHERE first = ?").get(first);
    const body = Uint8Array.from(row?.body as Uint8Array);
    for (let at = 20; at < 23; at++) body[at] = (body[at] ?? 0) ^ 0b110;
    database.prepare("UPDATE log_rows SET body = ? WHERE first = ?").run(body, first);
  };
  const remove = (first: number) => (database: DatabaseSync) =>
    void database.prepare("DELETE FROM log_rows WHERE first = ?").run(first);
  const keptLines = (directory: string): { [field: string]: unknown }[] =>
    readFileSync(join(directory, "damaged-rows.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));

  it.each([
    ["a damaged row among the newest", garble, 3, {}],
    ["the newest row damaged", garble, 11, {}],
    ["the oldest row damaged", garble, 0, {}],
    ["a row missing among the newest", remove, 5, {}],
    ["the newest row missing", remove, 11, {}],
    ["a damaged row in a sealed segment", garble, 6, { segmentMessages: 4 }],
    ["a missing row in a sealed segment", remove, 5, { segmentMessages: 4 }],
  ])("keeps all messages except the lost ones: %s", async (_case, damage, first, tuning) => {
    const directory = await after(damage(first), tuning);
    const report = await repairStore({ directory });
    const messageIds = damage === garble ? [`m${first}`] : [];
    const isKept = damage === garble;
    expect(report.damaged).toEqual([{ first, end: first + 1, messages: 1, messageIds, isKept }]);
    const kept = keptLines(directory);
    expect(kept).toEqual([expect.objectContaining({ first, end: first + 1, messageIds })]);
    if (damage === garble) {
      expect(Buffer.from(kept[0]?.body as string, "base64").toString()).toContain("batch");
      expect(kept[0]?.text).toContain("batch");
    }

    const store = await open(directory, { tuning });
    const left = Array.from({ length: 12 }, (_, i) => `m${i}`).filter((_, i) => i !== first);
    expect(await idsIn(store)).toEqual(left);
    expect(store.stats().messages).toBe(11);
    expect(store.log.head()).toBe(11);
    expect(await store.log.get(first as Offset)).toBeUndefined();
    const { items } = await store.log.find({ event: "Ordered" }, { limit: 20 });
    expect(items.map(({ messageId }) => messageId)).toEqual(left.reverse());
    await store.consumers.open("dst_1", BEFORE_FIRST);
    expect(await store.consumers.backlog("dst_1")).toEqual({ behind: 11, retries: 0 });
    expect((await store.log.append(idsBatch(["m0", `m${first}`, "new"]))).duplicates).toEqual([0, 1]);
    expect((await idsIn(store)).at(-1)).toBe("new");
    await store.close();
    expect((await repairStore({ directory })).damaged).toEqual([]);
  });

  it("lists the message ids that can still be read, in a row of several batches", async () => {
    const directory = temporaryDirectory();
    const store = await open(directory);
    await Promise.all([
      store.log.append(idsBatch(["a", "b"])),
      store.log.append(idsBatch(["c"])),
      store.log.append(idsBatch(["d"])),
    ]);
    await store.close();
    const database = new DatabaseSync(join(directory, "sluice.db"));
    database.exec(
      `UPDATE log_rows SET body = CAST(replace(CAST(body AS TEXT), '{"batch', '["batch') AS BLOB)`,
    );
    database.close();
    expect(await repairStore({ directory })).toMatchObject({
      rows: 1,
      damaged: [{ first: 0, end: 4, messages: 4, messageIds: ["a", "b", "c", "d"], isKept: true }],
    });
  });

  it("overwrites an incomplete line that a killed run left behind", async () => {
    const directory = await after(garble(3), {});
    const line = JSON.stringify({ first: 0, end: 1, text: "of an earlier repair" });
    writeFileSync(join(directory, "damaged-rows.jsonl"), `${line}\n${line.slice(0, 20)}`);
    await repairStore({ directory });
    expect(keptLines(directory).map(({ first }) => first)).toEqual([0, 3]);
    writeFileSync(join(directory, "damaged-rows.jsonl"), line.slice(0, 20));
    expect((await repairStore({ directory })).damaged).toEqual([]);
  });

  it("changes nothing in a sound folder, and is refused without a database or while a collector runs", async () => {
    const directory = await after(() => {}, { segmentMessages: 4 });
    expect(await repairStore({ directory })).toEqual({ rows: 12, messages: 12, damaged: [] });
    expect(readdirSync(directory)).toEqual(["sluice.db"]);
    await expect(repairStore({ directory: join(directory, "other") })).rejects.toMatchObject({
      code: "not_found",
    });
    await open(directory);
    await expect(repairStore({ directory })).rejects.toThrow(/in use by another process/);
  });
});

describe("a folder after a crash", () => {
  /** Nothing was checkpointed. */
  async function crashed(): Promise<{ directory: string; ledger: Ledger }> {
    const directory = temporaryDirectory();
    const ledger = new Ledger();
    const child = startChild(
      { directory, run: "w", inFlight: 1, tuning: { checkpointBytes: 1 << 30 } },
      ledger,
    );
    await child.said(() => ledger.acknowledged.size > 300);
    child.kill("SIGKILL");
    await child.ended;
    return { directory, ledger };
  }

  function copyOf(directory: string): string {
    const copy = join(temporaryDirectory(), "copy");
    mkdirSync(copy);
    for (const file of readdirSync(directory)) copyFileSync(join(directory, file), join(copy, file));
    return copy;
  }

  it("lacks nothing if SQLite's write-ahead log was cut off anywhere, or lost", async () => {
    const { directory, ledger } = await crashed();
    const whole = statSync(join(directory, "sluice.db-wal")).size;
    for (const cutBytes of [0, 1, 5_000, 100_003, whole >> 1, whole]) {
      const copy = copyOf(directory);
      truncateSync(join(copy, "sluice.db-wal"), Math.max(0, whole - cutBytes));
      const store = await open(copy);
      const ids = await idsIn(store);
      expect(ids).toEqual(Array.from({ length: ids.length }, (_, i) => `w-${i}`));
      expect(ids.length).toBeGreaterThanOrEqual(ledger.acknowledged.size);
      expect(await store.log.append(idsBatch(["new"]))).toMatchObject({ duplicates: [] });
    }
  });

  it("has every entry before the place where its log was cut off, and accepts messages again", async () => {
    const { directory, ledger } = await crashed();
    const whole = readFileSync(join(directory, "entries.log")).findLastIndex((byte) => byte !== 0);
    let fewest = Number.POSITIVE_INFINITY;
    for (const cutBytes of [0, 1, 5_000, 30_003]) {
      const copy = copyOf(directory);
      truncateSync(join(copy, "entries.log"), whole - cutBytes);
      rmSync(join(copy, "sluice.db-wal"));
      const notes: string[] = [];
      const store = await open(copy, { onNote: (what) => notes.push(what) });
      const said = expect.stringMatching(/^entry \d+ of .*entries\.log was not written completely/);
      expect(notes).toEqual(cutBytes === 1 ? [said] : expect.any(Array));
      const ids = await idsIn(store);
      expect(ids).toEqual(Array.from({ length: ids.length }, (_, i) => `w-${i}`));
      expect(ids.length).toBeLessThanOrEqual(fewest);
      fewest = ids.length;
      expect(await store.log.append(idsBatch(["new"]))).toMatchObject({ duplicates: [] });
    }
    expect(fewest).toBeLessThan(ledger.acknowledged.size);
    expect(fewest).toBeGreaterThan(0);
  });
});
