import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import type { Store } from "../../src/ports/store.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const HOUR = 3_600_000;
const OLD = Array.from({ length: 45 }, (_, index) => `old${index}`);
const ALL_DUPLICATE = { duplicates: OLD.map((_, index) => index) };

async function open(directory: string, startMs: number) {
  const clock = manualClock({ startMs });
  const store = await openSqliteStore({
    directory,
    clock,
    dedupeWindowMs: 24 * HOUR,
    retention: { maxAgeMs: 30 * HOUR },
    tuning: { segmentMessages: 10 },
  });
  return { store, clock };
}

/** Runs retention until it has nothing left to do. */
async function retain(store: Store, clock: ManualClock): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await clock.advance(10_000);
    await store.compact();
  }
}

async function idsIn(store: Store): Promise<string[]> {
  const batches = await store.log.read(BEFORE_FIRST, { messages: 1e6, bytes: 1 << 30 });
  return batches.flatMap(decodeBatch).map(({ messageId }) => messageId);
}

const appendOld = (store: Store, clock: ManualClock) =>
  store.log.append(idsBatch(OLD, { receivedAtMs: clock.now() }));

it("forgets no id and drops no message if the wall clock jumps, even across restarts", async () => {
  const directory = temporaryDirectory();
  let { store, clock } = await open(directory, RECEIVED_AT_MS);
  for (const id of OLD) await store.log.append(idsBatch([id], { receivedAtMs: clock.now() }));
  await retain(store, clock);
  clock.jump(48 * HOUR);
  await store.log.append(idsBatch(["glitch"], { receivedAtMs: clock.now() }));
  expect(await appendOld(store, clock)).toEqual(ALL_DUPLICATE);
  await retain(store, clock);
  await store.close();

  ({ store, clock } = await open(directory, RECEIVED_AT_MS + 48 * HOUR));
  expect(await appendOld(store, clock)).toEqual(ALL_DUPLICATE);
  await retain(store, clock);
  await store.close();

  ({ store, clock } = await open(directory, RECEIVED_AT_MS + 60_000));
  expect(await appendOld(store, clock)).toEqual(ALL_DUPLICATE);
  await retain(store, clock);
  expect(await idsIn(store)).toEqual([...OLD, "glitch"]);
  await store.close();
});

it("remembers ids for the whole window if the clock is set back", async () => {
  const { store, clock } = await open(temporaryDirectory(), RECEIVED_AT_MS);
  // Only a clock that was read before is known to have been set back.
  await store.log.append(idsBatch(["before"], { receivedAtMs: clock.now() }));
  clock.jump(-12 * HOUR);
  await store.log.append(idsBatch(OLD.slice(0, 10), { receivedAtMs: clock.now() }));
  await store.log.append(idsBatch(OLD.slice(10), { receivedAtMs: clock.now() }));
  clock.jump(12 * HOUR);
  clock.elapse(23 * HOUR);
  await retain(store, clock);
  expect(await appendOld(store, clock)).toEqual(ALL_DUPLICATE);
  await store.close();
});

it("expires data by a clock that was set forward an hour ago", async () => {
  const { store, clock } = await open(temporaryDirectory(), RECEIVED_AT_MS);
  for (const id of OLD) await store.log.append(idsBatch([id], { receivedAtMs: clock.now() }));
  await retain(store, clock);
  clock.jump(48 * HOUR);
  await clock.advance(HOUR + 20_000);
  await retain(store, clock);
  expect(await idsIn(store)).not.toContain("old0");
  expect(await appendOld(store, clock)).not.toEqual(ALL_DUPLICATE);
  await store.close();
});
