import { join } from "node:path";
import { expect } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import { TUNING_DEFAULTS } from "../../src/sqlite/calls/tuning.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { type RepairReport, repairStore } from "../../src/sqlite/repair/repair-store.js";
import { OpenStore } from "../../src/sqlite/thread/open-store.js";
import { idsBatch, RECEIVED_AT_MS } from "../batches.js";
import {
  CURSOR,
  DOCUMENTS,
  damagedFolderClock,
  documentIdOf,
  idOf,
  isRetry,
  MESSAGES,
  userOf,
} from "./damaged-folder.js";

/** As many messages as one page of the database, and the rows that reach into it, can have. */
const MOST_LOST = 140;

/** Starts on a damaged folder, repairs it, and compares its contents with those that `makeFolder` wrote. */
export async function verifyRepair(directory: string): Promise<RepairReport> {
  tryToStart(directory);
  const report = await repairStore({ directory, nowMs: RECEIVED_AT_MS });
  const store = await openSqliteStore({ directory, clock: damagedFolderClock() });
  try {
    await compareMessages(store, report);
    await compareTables(store, report);
  } finally {
    await store.close();
  }
  expect(await repairStore({ directory })).toEqual({
    rows: expect.any(Number),
    messages: expect.any(Number),
    damaged: [],
  });
  return report;
}

/** A start succeeds, or names the damaged file and the command to run. */
function tryToStart(directory: string): void {
  try {
    OpenStore.open(
      {
        directory,
        dedupeWindowMs: 86_400_000,
        rejectionsKept: 10_000,
        retention: {},
        tuning: TUNING_DEFAULTS,
      },
      { damaged: () => {}, isFirst: true, isCareful: false },
    ).close();
  } catch (error) {
    const { message } = error as Error;
    expect(message).toContain(`${join(directory, "sluice.db")} is damaged: `);
    expect(message).toContain(`\`sluice repair --data-dir ${directory}\``);
  }
}

type Store = Awaited<ReturnType<typeof openSqliteStore>>;

async function compareMessages(store: Store, { damaged }: RepairReport): Promise<void> {
  const isLost = (offset: number): boolean =>
    damaged.some(({ first, end }) => first <= offset && offset < end);
  const left = Array.from({ length: MESSAGES }, (_, offset) => offset).filter((offset) => !isLost(offset));
  expect(left.length).toBeGreaterThan(MESSAGES - MOST_LOST);
  const batches = await store.log.read(BEFORE_FIRST, { messages: 1e6, bytes: 1 << 30 });
  const messages = batches.flatMap(decodeBatch);
  expect(messages.map(({ offset }) => offset)).toEqual(left);
  expect(messages.map(({ messageId }) => messageId)).toEqual(left.map(idOf));
  expect(store.stats().messages).toBe(left.length);
  for (const offset of left.filter((_, i) => i % 41 === 0)) {
    const { items } = await store.log.find({ messageId: idOf(offset) }, { limit: 2 });
    expect(items.map((item) => item.offset)).toEqual([offset]);
    expect(items[0]?.sourceId).toBe(`src_${Math.floor(offset / 10) % 3}`);
  }
  const user = userOf(13);
  const { items } = await store.log.find({ userId: user }, { limit: 1000 });
  expect(items.map(({ offset }) => offset).reverse()).toEqual(
    left.filter((offset) => userOf(offset) === user),
  );
  for (const sourceId of ["src_0", "src_1", "src_2"]) {
    const known = left.filter((offset) => `src_${Math.floor(offset / 10) % 3}` === sourceId);
    const again = await store.log.append(idsBatch([...known.map(idOf), `new-${sourceId}`], { sourceId }));
    expect(again.duplicates).toEqual(known.map((_, i) => i));
  }
  const [batch] = await store.log.read((store.log.head() - 1) as Offset, { messages: 1, bytes: 1 });
  expect(batch?.first).toBeGreaterThanOrEqual(MESSAGES);
}

async function compareTables(store: Store, { lost = [] }: RepairReport): Promise<void> {
  const documents = await store.config.list<{ name: string }>("source");
  for (let no = 0; no < DOCUMENTS; no++) {
    const found = documents.find(({ id }) => id === documentIdOf(no));
    if (found === undefined)
      expect(lost).toContainEqual(expect.stringMatching(`^source ${documentIdOf(no)}$|^configuration`));
    else expect(found.value.name).toBe(`Source ${no}`);
  }
  const retries = Array.from({ length: MESSAGES }, (_, offset) => offset).filter(
    (offset) => offset <= CURSOR && isRetry(offset),
  );
  const state = await store.consumers.open("dst_1", BEFORE_FIRST);
  if (lost.some((text) => text.startsWith("the position of dst_1"))) {
    // At the first message without an outcome: no message is sent twice or left out.
    expect(state.cursor).toBeLessThanOrEqual(CURSOR);
  } else expect([state.cursor, state.settledAhead]).toEqual([CURSOR, []]);
  if (!lost.some((text) => text.startsWith("waiting retries"))) expect(state.retries).toBe(retries.length);
  for (let offset = 0; offset <= CURSOR; offset += 37) {
    const [found] = await store.consumers.outcomesOf(offset as Offset);
    if (found?.state !== (isRetry(offset) ? "pending" : "delivered"))
      expect(lost.join()).toMatch(isRetry(offset) ? /retries/ : /outcomes/);
    const [attempt] = await store.consumers.attemptsOf("dst_1", offset as Offset);
    if (!isRetry(offset) && attempt?.response !== `answer ${offset}`) expect(lost.join()).toMatch(/attempts/);
  }
}
