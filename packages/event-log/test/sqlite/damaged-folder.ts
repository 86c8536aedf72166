import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import type { Store } from "../../src/ports/store.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { withFile } from "../../src/sqlite/repair/pages/bring-in-log.js";
import { DatabaseFile } from "../../src/sqlite/repair/pages/database-file.js";
import { batchOf, RECEIVED_AT_MS } from "../batches.js";

export const MESSAGES = 2000;
const BATCH = 10;
export const DOCUMENTS = 60;
/** The size of the damage: a quarter of a database page. */
export const DAMAGED_BYTES = 4096;

export const idOf = (offset: number): string => `message-${offset}`;
export const userOf = (offset: number): string => `user-${offset % 50}`;
export const documentIdOf = (no: number): string => `doc_${no}`;
/** The cursor of `dst_1`: every 20th message before it waits for a retry. */
export const CURSOR = MESSAGES - 101;
export const isRetry = (offset: number): boolean => offset % 20 === 7;

/** A clock within the dedupe window of the folder's messages, because a rebuilt index knows only when they were received. */
export const damagedFolderClock = (): ManualClock => manualClock({ startMs: RECEIVED_AT_MS });

/** Creates a folder with rows in every table, and messages in sealed segments and in the newest one. */
export async function makeFolder(directory: string): Promise<void> {
  const tuning = { segmentMessages: 512, rowBytes: 2048 };
  const store = await openSqliteStore({ directory, clock: damagedFolderClock(), tuning });
  for (let first = 0; first < MESSAGES; first += BATCH) {
    const messages = Array.from({ length: BATCH }, (_, i) => ({
      messageId: idOf(first + i),
      userId: userOf(first + i),
      properties: { text: "some properties ".repeat(10), number: first + i },
    }));
    await store.log.append(batchOf(messages, { sourceId: `src_${(first / BATCH) % 3}` }));
  }
  for (let no = 0; no < DOCUMENTS; no++)
    await store.config.put("source", documentIdOf(no), { name: `Source ${no}`, text: "x".repeat(1500) });
  await settle(store);
  store.rejections.add(
    Array.from({ length: 100 }, (_, i) => ({
      sourceId: "src_1",
      receivedAtMs: RECEIVED_AT_MS,
      issues: [],
      excerpt: `{"refused":"${"y".repeat(200)}${i}"}`,
    })),
  );
  // Segments are sealed in steps between commits.
  for (let turn = 0; turn < 400; turn++) await store.config.put("nothing", "n", 0);
  await store.close();
}

async function settle(store: Store): Promise<void> {
  await store.consumers.open("dst_1", BEFORE_FIRST);
  await store.consumers.open("dst_2", BEFORE_FIRST);
  for (let first = 0; first <= CURSOR; first += 100) {
    const offsets = Array.from({ length: 100 }, (_, i) => first + i).filter((offset) => offset <= CURSOR);
    const settled = offsets.filter((offset) => !isRetry(offset)) as Offset[];
    await store.consumers.settle("dst_1", {
      cursor: (offsets.at(-1) ?? 0) as Offset,
      outcomes: settled.map((offset) => ({
        offset,
        state: "delivered",
        reason: "200",
        atMs: RECEIVED_AT_MS + offset,
      })),
      retries: offsets.filter(isRetry).map((offset) => ({
        offset: offset as Offset,
        rounds: 2,
        firstAttemptAtMs: RECEIVED_AT_MS,
        dueAtMs: RECEIVED_AT_MS + offset,
        reason: "503",
        doneUrls: [],
        failedUrls: ["https://a.example/"],
        replay: false,
      })),
      attempts: settled.map((offset) => ({
        offset,
        attempt: 1,
        atMs: RECEIVED_AT_MS + offset,
        url: "https://a.example/hook",
        status: 200,
        latencyMs: offset / 7,
        requestHeaders: { "content-type": "application/json", "x-number": `${offset % 40}` },
        response: `answer ${offset}`,
      })),
    });
  }
}

/** A copy of a folder's files in a folder of its own. */
export function copyFolder(from: string, to: string, files: readonly string[]): string {
  mkdirSync(to, { recursive: true });
  for (const file of files) copyFileSync(join(from, file), join(to, file));
  return to;
}

export type Damage = "zeroed" | "garbled";

/** Overwrites 4 KB of a file. */
export function damage(file: string, at: number, how: Damage): void {
  const bytes = readFileSync(file);
  let state = at + 1;
  for (let i = at; i < Math.min(at + DAMAGED_BYTES, bytes.length); i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    bytes[i] = how === "zeroed" ? 0 : state >> 16;
  }
  writeFileSync(file, bytes);
}

export interface Place {
  readonly name: string;
  readonly at: number;
}

/** Tables and indexes with more than one page. One of the further pages is damaged, too. */
const LARGE = ["log_rows", "sidecars", "chunks", "documents"];

/**
 * Places in a database: its header, its pointer map, the first page of each table and index, and one within the large ones. `stride` takes
 * others instead: every `stride`-th 4 KB of the file.
 */
export function placesIn(file: string, stride?: number): Place[] {
  if (stride !== undefined) {
    const count = Math.floor(statSync(file).size / (stride * DAMAGED_BYTES));
    return Array.from({ length: count }, (_, i) => i * stride * DAMAGED_BYTES).map((at) => ({
      name: `byte ${at}`,
      at,
    }));
  }
  const database = new DatabaseSync(file);
  const trees = database
    .prepare("SELECT name, rootpage AS root FROM sqlite_schema WHERE rootpage > 0 AND name NOT LIKE '%late%'")
    .all() as unknown as { name: string; root: number }[];
  database.close();
  return withFile(file, (descriptor) => {
    const pages = new DatabaseFile(descriptor);
    const placeOf = (name: string, no: number): Place => ({
      name: `${name}, page ${no}`,
      at: (no - 1) * pages.pageBytes,
    });
    const places = [placeOf("header and schema", 1), placeOf("pointer map", 2)];
    for (const { name, root } of trees) {
      const own = Array.from({ length: pages.pageCount }, (_, i) => i + 1).filter(
        (no) => no !== root && pages.rootOf(no) === root,
      );
      const within = LARGE.includes(name) ? [own[own.length >> 1]] : [];
      for (const no of [root, ...within]) if (no !== undefined) places.push(placeOf(name, no));
    }
    return places;
  });
}
