import { closeSync, copyFileSync, mkdirSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { repairStore } from "../../src/sqlite/repair/repair-store.js";
import { batchOf, RECEIVED_AT_MS } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const open = (directory: string) =>
  openSqliteStore({ directory, clock: manualClock({ startMs: RECEIVED_AT_MS }) });

/** A folder as a crash leaves it: ten messages in entries of their own, then a settlement. Nothing is in the database yet but its tables. */
async function crashedFolder(): Promise<string> {
  const directory = temporaryDirectory();
  const store = await open(directory);
  for (let i = 0; i < 10; i++) await store.log.append(batchOf([{ messageId: `m${i}`, note: `note ${i}` }]));
  await store.consumers.open("dst_1", BEFORE_FIRST);
  await store.consumers.settle("dst_1", {
    cursor: 9 as Offset,
    outcomes: [{ offset: 8 as Offset, state: "failed", reason: "404", atMs: 1 }],
    retries: [],
    attempts: [],
  });
  const crashed = join(temporaryDirectory(), "crashed");
  mkdirSync(crashed);
  for (const file of readdirSync(directory)) copyFileSync(join(directory, file), join(crashed, file));
  await store.close();
  return crashed;
}

function overwriteLog(directory: string, at: number, bytes: Uint8Array): void {
  const log = openSync(join(directory, "entries.log"), "r+");
  writeSync(log, bytes, 0, bytes.byteLength, at);
  closeSync(log);
}

/** The sixth message's entry is damaged. */
async function damagedLog(): Promise<string> {
  const directory = await crashedFolder();
  const at = readFileSync(join(directory, "entries.log")).indexOf("note 5");
  overwriteLog(directory, at, Buffer.from("NOTE"));
  return directory;
}

async function storedIds(directory: string): Promise<string[]> {
  const store = await open(directory);
  const batches = await store.log.read(BEFORE_FIRST, { messages: 100, bytes: 1e6 });
  await store.close();
  return batches.flatMap(decodeBatch).map(({ messageId }) => messageId);
}

describe("a log with a damaged entry", () => {
  it("stops the start, which says where it is, when it was written and what it held", async () => {
    const directory = await damagedLog();
    await expect(open(directory)).rejects.toThrow(
      /entries\.log is damaged: entry 6, written about \d{4}-.*Z, cannot be read \(bytes \d+ to \d+ of .*entries\.log\); it held append\. Nothing was changed\. Run `sluice repair --data-dir/,
    );
  });

  it("is repaired: everything else stays, and at its offset", async () => {
    const directory = await damagedLog();
    const report = await repairStore({ directory });
    expect(report.lost).toEqual([
      expect.stringMatching(/^entry 6, .* it held append$/),
      "entries 6 to 6 of the log",
    ]);
    expect(readFileSync(join(directory, "damaged-rows.jsonl"), "utf8")).toContain('"entry":"entry 6');
    const store = await open(directory);
    const messages = (await store.log.read(BEFORE_FIRST, { messages: 100, bytes: 1e6 })).flatMap(decodeBatch);
    expect(messages.map(({ messageId, offset }) => [messageId, offset])).toEqual(
      [0, 1, 2, 3, 4, 6, 7, 8, 9].map((i) => [`m${i}`, i]),
    );
    expect(await store.consumers.outcomesOf(8 as Offset)).toMatchObject([{ state: "failed", reason: "404" }]);
    expect((await store.log.append(batchOf([{ messageId: "m9" }, { messageId: "new" }]))).duplicates).toEqual(
      [0],
    );
    await store.close();
    expect(await repairStore({ directory })).toMatchObject({ damaged: [] });
    expect((await repairStore({ directory })).lost).toBeUndefined();
  });

  it("is refused if the database is older than the log's beginning, and repaired", async () => {
    const directory = temporaryDirectory();
    const first = await open(directory);
    await first.log.append(batchOf([{ messageId: "a" }]));
    await first.close();
    const older = join(temporaryDirectory(), "older");
    mkdirSync(older);
    copyFileSync(join(directory, "sluice.db"), join(older, "sluice.db"));
    const second = await open(directory);
    await second.log.append(batchOf([{ messageId: "b" }]));
    await second.close();
    const third = await open(directory);
    await third.log.append(batchOf([{ messageId: "c" }]));
    copyFileSync(join(directory, "entries.log"), join(older, "entries.log"));
    await third.close();
    await expect(open(older)).rejects.toThrow(/the log begins at entry 3, but the database ends at entry 1/);
    expect((await repairStore({ directory: older })).lost).toEqual(["entries 2 to 2 of the log"]);
    const store = await open(older);
    const messages = (await store.log.read(BEFORE_FIRST, { messages: 9, bytes: 1e6 })).flatMap(decodeBatch);
    expect(messages.map(({ messageId, offset }) => [messageId, offset])).toEqual([
      ["a", 0],
      ["c", 2],
    ]);
    await store.close();
  });

  it("loses nothing if only its first page is damaged", async () => {
    const directory = await crashedFolder();
    overwriteLog(directory, 0, new Uint8Array(4_096));
    await expect(open(directory)).rejects.toThrow(/entries\.log is damaged: .* Run `sluice repair/);
    const report = await repairStore({ directory });
    expect([report.lost, report.rebuilt]).toEqual([undefined, ["the beginning of the log of entries"]]);
    expect(await storedIds(directory)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `m${i}`));
  });

  it("is set aside, and reported, if no entry in it can be found", async () => {
    const directory = await crashedFolder();
    overwriteLog(directory, 0, new Uint8Array(4_096 + 64));
    const kept = join(directory, "entries.log.damaged-1");
    const report = await repairStore({ directory });
    expect([report.lost, report.setAside]).toEqual([
      [`every entry that only entries.log had: none can be found in it (it is kept as ${kept})`],
      [kept],
    ]);
    expect(readFileSync(kept).includes("note 5")).toBe(true);
    expect(await storedIds(directory)).toEqual([]);
    expect((await repairStore({ directory })).lost).toBeUndefined();
  });
});
