import { manualClock } from "@sluice/resilience/testing";
import { afterEach, describe, expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import type { Rejection } from "../../src/ports/rejections.js";
import type { Store } from "../../src/ports/store.js";
import { openSqliteStore, type SqliteStoreOptions } from "../../src/sqlite/open-sqlite-store.js";
import { batchOf, idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const HOUR_MS = 3_600_000;

const opened: Store[] = [];
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
    // These tests do not depend on syncs, and there would be hundreds.
    tuning: { segmentMessages: 10, segmentBytes: 1 << 20, syncLog: false, ...options.tuning },
  });
  opened.push(store);
  /** Appends one message an hour. */
  const append = async (from: number, count: number, fields: object = {}) => {
    const appended = Array.from({ length: count }, (_, i) => {
      const receivedAtMs = RECEIVED_AT_MS + (from + i) * HOUR_MS;
      return store.log.append(batchOf([{ messageId: `m${from + i}`, ...fields }], { receivedAtMs }));
    });
    await Promise.all(appended);
  };
  /** Runs retention and waits for its work to end: compaction comes after it. */
  const retainOnce = async () => {
    await clock.advance(10_000);
    await store.compact();
  };
  /** A full segment is sealed, then dropped, then its dedupe marks are deleted. */
  const retain = async () => {
    for (let i = 0; i < 3; i++) await retainOnce();
  };
  return { store, clock, append, retain, retainOnce, directory };
}

async function idsIn(store: Store): Promise<string[]> {
  const batches = await store.log.read(BEFORE_FIRST, { messages: 1e6, bytes: 1 << 30 });
  return batches.flatMap(decodeBatch).map(({ messageId }) => messageId);
}

describe("retention by age", () => {
  const options = { retention: { maxAgeMs: 400 * HOUR_MS }, dedupeWindowMs: 1_000 * HOUR_MS };

  it("drops whole segments whose newest message is too old, with their outcomes and attempts", async () => {
    const { store, clock, append, retain } = await open(options);
    await append(0, 45);
    await store.consumers.open("dst_1", BEFORE_FIRST);
    const offsets = Array.from({ length: 45 }, (_, i) => i as Offset);
    await store.consumers.settle("dst_1", {
      cursor: 44 as Offset,
      outcomes: offsets.map((offset) => ({ offset, state: "failed", reason: "404", atMs: 1 })),
      retries: [],
      attempts: [],
    });
    clock.elapse(430 * HOUR_MS);
    await retain();
    // m0 to m30 are older than 400 hours. The segment that begins with m30 also has newer messages.
    expect((await idsIn(store))[0]).toBe("m30");
    expect(store.stats().messages).toBe(15);
    expect((await store.log.find({ messageId: "m3" }, { limit: 1 })).items).toEqual([]);
    expect((await store.log.find({}, { limit: 100 })).items).toHaveLength(15);
    expect(await store.log.get(3 as Offset)).toBeUndefined();
    expect((await store.log.get(31 as Offset))?.messageId).toBe("m31");
    expect(store.log.head()).toBe(44);
    expect(await store.consumers.backlog("dst_1")).toEqual({ behind: 0, retries: 0 });
  });

  it("detects duplicates of dropped messages during the dedupe window, also after a restart", async () => {
    const { store, clock, append, retain, directory } = await open(options);
    await append(0, 45);
    clock.elapse(430 * HOUR_MS);
    await retain();
    const again = () => idsBatch(["m3"], { receivedAtMs: clock.now() });
    expect(await store.log.append(again())).toEqual({ duplicates: [0] });
    await store.close();
    const reopened = await open({ ...options, directory });
    expect(await reopened.store.log.append(again())).toEqual({ duplicates: [0] });
    expect((await idsIn(reopened.store))[0]).toBe("m30");
    clock.elapse(1_000 * HOUR_MS);
    // Its clock starts at the same time as the first one.
    reopened.clock.elapse(1_430 * HOUR_MS);
    expect(await reopened.store.log.append(again())).toMatchObject({ duplicates: [] });
  });

  it("drops everything if all messages are too old, and continues with later offsets", async () => {
    const { store, clock, append, retain, directory } = await open({
      ...options,
      dedupeWindowMs: 10 * HOUR_MS,
    });
    await append(0, 25);
    clock.elapse(2_000 * HOUR_MS);
    await retain();
    expect(await idsIn(store)).toEqual([]);
    expect(store.log.head()).toBe(24);
    await store.close();
    const reopened = await open({ ...options, directory });
    expect(reopened.store.log.head()).toBe(24);
    await reopened.append(3_000, 1);
    expect(reopened.store.log.head()).toBe(25);
    expect(await idsIn(reopened.store)).toEqual(["m3000"]);
  });
});

describe("retention of refused messages", () => {
  const rejection = (messageId: string, receivedAtMs: number): Rejection => ({
    sourceId: "src_1",
    receivedAtMs,
    messageId,
    issues: [{ code: "event_not_defined", path: "event", message: "A track call needs an event" }],
    excerpt: '{"userId":"u1"}',
  });
  const idsOf = async (store: Store) =>
    (await store.rejections.find({}, { limit: 2_000 })).items.map(({ messageId }) => messageId);

  it("deletes those past the age limit, and none without an age limit", async () => {
    const old = Array.from({ length: 1_500 }, (_, i) => rejection(`old${i}`, RECEIVED_AT_MS));
    const added = [...old, rejection("young", RECEIVED_AT_MS + 90 * HOUR_MS)];
    for (const [retention, left] of [
      [{ maxAgeMs: 100 * HOUR_MS }, 1],
      [{}, 1_501],
    ] as const) {
      const { store, clock, retainOnce } = await open({ retention });
      store.rejections.add(added);
      clock.elapse(50 * HOUR_MS);
      await retainOnce();
      expect(await idsOf(store)).toHaveLength(1_501);
      clock.elapse(60 * HOUR_MS);
      for (let i = 0; i < 3; i++) await retainOnce();
      const ids = await idsOf(store);
      expect(ids).toHaveLength(left);
      expect(ids[0]).toBe("young");
    }
  });
});

describe("retention and consumers", () => {
  const options = { retention: { maxAgeMs: 100 * HOUR_MS }, dedupeWindowMs: 1_000 * HOUR_MS };

  it("keeps what a consumer still needs, and reports the consumer", async () => {
    const { store, clock, append, retain } = await open(options);
    await append(0, 45);
    await store.consumers.open("dst_slow", BEFORE_FIRST);
    await store.consumers.open("dst_done", 44 as Offset);
    await store.consumers.settle("dst_slow", {
      cursor: 12 as Offset,
      outcomes: [],
      retries: [],
      attempts: [],
    });
    clock.elapse(300 * HOUR_MS);
    await retain();
    expect((await idsIn(store))[0]).toBe("m10");
    expect(store.stats().retentionHeldBack).toMatchObject({ consumerId: "dst_slow" });
    expect(store.stats().retentionHeldBack?.bytes).toBeGreaterThan(0);
    await store.consumers.settle("dst_slow", {
      cursor: 44 as Offset,
      outcomes: [],
      retries: [],
      attempts: [],
    });
    await retain();
    expect(await idsIn(store)).toEqual([]);
    expect(store.stats().retentionHeldBack).toBeUndefined();
  });

  it("waits for retries, but not for a removed consumer", async () => {
    const { store, clock, append, retain } = await open(options);
    await append(0, 35);
    await store.consumers.open("dst_1", BEFORE_FIRST);
    const waiting = {
      offset: 15 as Offset,
      rounds: 1,
      firstAttemptAtMs: 1,
      dueAtMs: 2,
      reason: "503",
      doneUrls: [],
      replay: false,
    };
    await store.consumers.settle("dst_1", {
      cursor: 34 as Offset,
      outcomes: [],
      retries: [waiting],
      attempts: [],
    });
    clock.elapse(300 * HOUR_MS);
    await retain();
    expect((await idsIn(store))[0]).toBe("m10");
    expect((await store.consumers.outcomesOf(15 as Offset))[0]).toMatchObject({ state: "pending" });
    await store.consumers.remove("dst_1");
    await retain();
    expect(await idsIn(store)).toEqual([]);
  });
});

describe("retention by size", () => {
  it("keeps the newest messages that fit, and returns the space", async () => {
    const maxBytes = 1_500_000;
    const { store, append, retain } = await open({
      retention: { maxBytes },
      dedupeWindowMs: 10_000 * HOUR_MS,
      tuning: { segmentMessages: 10, segmentBytes: 100_000, checkpointBytes: 4 << 20 },
    });
    const filler = "x".repeat(10_000);
    for (let round = 0; round < 3; round++) await append(round * 100, 100, { properties: { filler } });
    await retain();
    const ids = await idsIn(store);
    expect(ids.at(-1)).toBe("m299");
    expect(ids.length).toBeGreaterThan(50);
    expect(ids.length).toBeLessThan(160);
    expect(store.stats().bytes).toBeLessThan(1.5 * maxBytes);
  });
});
