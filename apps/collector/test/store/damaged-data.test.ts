import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  BEFORE_FIRST,
  type Offset,
  openSqliteStore,
  type Retry,
  type SqliteStoreOptions,
  type Store,
} from "@sluice/event-log";
import {
  batchOf,
  DATABASE_FILE,
  idsBatch,
  RECEIVED_AT_MS,
  temporaryDirectories,
  zeroPages,
} from "@sluice/event-log/testing";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { afterEach, describe, expect, it } from "vitest";
import { startCollector } from "../../src/collector.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

const temporaryDirectory = temporaryDirectories();
const HOUR_MS = 3_600_000;
const DAMAGED = { code: "data_damaged", message: expect.stringContaining("`sluice repair`") };

const opened: Store[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

async function open(directory: string, options: Partial<SqliteStoreOptions> = {}) {
  const clock = manualClock({ startMs: RECEIVED_AT_MS });
  const reported: string[] = [];
  const store = await openSqliteStore({
    directory,
    clock,
    onDamage: (what) => reported.push(what),
    ...options,
    tuning: { segmentMessages: 10, syncLog: false, ...options.tuning },
  });
  opened.push(store);
  return { store, clock, reported };
}

const MESSAGES = 100;

/** Messages with a user, an outcome and an attempt each, enough to fill several pages per table. */
async function made(directory: string): Promise<void> {
  const { store } = await open(directory);
  for (let i = 0; i < MESSAGES; i++)
    await store.log.append(
      batchOf([{ messageId: `m${i}`, userId: `user-${i}`, filler: "x".repeat(2_000) }], {
        receivedAtMs: RECEIVED_AT_MS + i * HOUR_MS,
      }),
    );
  await store.consumers.open("dst_1", BEFORE_FIRST);
  for (let i = 0; i < MESSAGES; i += 10) {
    const offsets = Array.from({ length: 10 }, (_, k) => (i + k) as Offset);
    await store.consumers.settle("dst_1", {
      cursor: (i < 50 ? i + 9 : 49) as Offset,
      outcomes: offsets.map((offset) => ({
        offset,
        state: "failed",
        reason: `${offset} `.repeat(150),
        atMs: 1,
      })),
      retries: [],
      attempts: offsets.map((offset) => ({
        offset,
        attempt: 1,
        atMs: 2,
        url: "https://example.com/",
        latencyMs: 3,
        response: `${offset} `.repeat(200),
      })),
    });
  }
  // Segments are sealed in steps between commits.
  for (let turn = 0; turn < 60; turn++) await store.config.put("nothing", "n", turn);
  await store.close();
}

async function damaged(change: (directory: string) => unknown, options: Partial<SqliteStoreOptions> = {}) {
  const directory = temporaryDirectory();
  await made(directory);
  change(directory);
  return open(directory, options);
}

/**
 * Waits until retention has marked the messages beyond `fewerThan` and done the work that follows. A compaction waits for that work,
 * even where damaged data then ends the compaction itself.
 */
async function untilDropped(store: Store, clock: ManualClock, fewerThan: number): Promise<void> {
  do {
    await clock.advance(10_000);
    await store.compact().catch(() => undefined);
  } while (store.stats().messages >= fewerThan);
  // What the first mark left behind is known to the second.
  await clock.advance(10_000);
  await store.compact().catch(() => undefined);
}

function sql(text: string, least = 1): (directory: string) => unknown {
  return (directory) => {
    const database = new DatabaseSync(join(directory, DATABASE_FILE));
    const { changes } = database.prepare(text).run();
    database.close();
    if (Number(changes) < least) throw new Error("nothing was changed");
  };
}

const allPages = (leaves: readonly number[]) => leaves;

describe("a read that finds damaged data", () => {
  it.each([
    ["a zeroed page", (directory: string) => zeroPages(directory, "chunks")],
    ["a changed byte", sql("UPDATE chunks SET data = CAST(data || x'00' AS BLOB) WHERE min <= 2")],
    ["zeros in place of the data", sql("UPDATE chunks SET data = zeroblob(length(data)) WHERE min <= 2")],
  ])("fails without affecting other calls: %s", async (_case, change) => {
    const { store, reported } = await damaged(change);
    const readings = [0, 1, 2].flatMap((offset) => [
      store.consumers.attemptsOf("dst_1", offset as Offset),
      store.log.append(idsBatch([`new-${offset}`])),
    ]);
    const results = await Promise.allSettled(readings);
    for (const [i, result] of results.entries()) {
      if (i % 2 === 0) expect(result).toMatchObject({ status: "rejected", reason: DAMAGED });
      else expect(result).toMatchObject({ status: "fulfilled", value: { duplicates: [] } });
    }
    expect(await store.consumers.attemptsOf("dst_1", 99 as Offset)).toHaveLength(1);
    expect(store.health()).toEqual({ kind: "ready" });
    expect(reported.length).toBeGreaterThan(0);
    // Each damaged place is reported once.
    expect(new Set(reported).size).toBe(reported.length);
  });

  it("returns the messages before it, then fails, and the log accepts more", async () => {
    const { store } = await damaged((directory) =>
      zeroPages(directory, "log_rows", (leaves) => leaves.slice(0, 1)),
    );
    await expect(store.log.read(BEFORE_FIRST, { messages: 10, bytes: 1e6 })).rejects.toMatchObject(DAMAGED);
    await expect(store.log.find({}, { limit: 1_000 })).rejects.toMatchObject(DAMAGED);
    expect(await store.log.append(idsBatch(["new"]))).toMatchObject({ duplicates: [] });
    expect(store.health()).toEqual({ kind: "ready" });
  });

  it("names the damaged document", async () => {
    const { store } = await damaged(sql("UPDATE documents SET json = '{' WHERE kind = 'nothing'"));
    await expect(store.config.get("nothing", "n")).rejects.toMatchObject({
      code: "data_damaged",
      message: expect.stringContaining("nothing n is damaged"),
    });
  });

  it("still returns a retry, for every URL", async () => {
    const directory = temporaryDirectory();
    const first = await open(directory);
    await first.store.log.append(idsBatch(["a"]));
    await first.store.consumers.open("dst_1", BEFORE_FIRST);
    const retry: Retry = {
      offset: 0 as Offset,
      rounds: 1,
      firstAttemptAtMs: 1,
      dueAtMs: 2,
      reason: "HTTP 503",
      doneUrls: ["https://a.example/"],
      replay: false,
    };
    await first.store.consumers.requeue("dst_1", [retry]);
    await first.store.close();
    sql("UPDATE retries SET urls = '{'")(directory);
    const { store, reported } = await open(directory);
    expect(await store.consumers.lease("dst_1", 10, 20, 5)).toEqual([{ ...retry, doneUrls: [] }]);
    expect(reported).toEqual([expect.stringContaining("the retry of the message 0")]);
  });
});

describe("an unreadable refused message", () => {
  /** Three refused messages each of two users. The second and the newest are damaged. */
  async function refused() {
    const directory = temporaryDirectory();
    const first = await open(directory);
    for (let i = 0; i < 6; i++) {
      const userId = i % 2 === 0 ? "ann" : "bob";
      const excerpt = JSON.stringify({ userId, i });
      first.store.rejections.add([
        { sourceId: "src_1", receivedAtMs: RECEIVED_AT_MS + i, issues: [], excerpt },
      ]);
    }
    await first.store.close();
    sql(`UPDATE rejections SET json = '{"sourceId":"src' WHERE no = 2`)(directory);
    sql("UPDATE rejections SET json = 'null' WHERE no = 6")(directory);
    return { directory, ...(await open(directory)) };
  }
  const timesIn = (items: readonly { receivedAtMs: number }[]) =>
    items.map(({ receivedAtMs }) => receivedAtMs - RECEIVED_AT_MS);

  it("is skipped by a search, which continues after it", async () => {
    const { store, reported } = await refused();
    expect(timesIn((await store.rejections.find({}, { limit: 10 })).items)).toEqual([4, 3, 2, 0]);
    const page = await store.rejections.find({}, { limit: 3 });
    expect(timesIn(page.items)).toEqual([4, 3, 2]);
    const next = await store.rejections.find({}, { limit: 3, cursor: page.nextCursor ?? "" });
    expect(timesIn(next.items)).toEqual([0]);
    expect(next.nextCursor).toBeUndefined();
    expect(reported.map((what) => /row \d/.exec(what)?.[0])).toEqual(["row 6", "row 2"]);
    expect(reported[0]).toContain("`sluice repair`");
  });

  it("is removed by a purge, which completes", async () => {
    const { directory, store, reported } = await refused();
    await store.purge({ userId: "ann" });
    expect(reported).toHaveLength(2);
    expect(timesIn((await store.rejections.find({}, { limit: 10 })).items)).toEqual([3]);
    await store.close();
    const database = new DatabaseSync(join(directory, DATABASE_FILE));
    expect(database.prepare("SELECT no FROM rejections").all()).toEqual([{ no: 4 }]);
    database.close();
  });
});

describe("a write that finds damaged data", () => {
  it("does not change unreadable retries, and still stores messages", async () => {
    const directory = temporaryDirectory();
    const first = await open(directory);
    await first.store.log.append(idsBatch(["a"]));
    await first.store.consumers.open("dst_1", BEFORE_FIRST);
    const retry: Retry = {
      offset: 0 as Offset,
      rounds: 1,
      firstAttemptAtMs: 1,
      dueAtMs: 2,
      reason: "HTTP 503",
      doneUrls: [],
      replay: false,
    };
    await first.store.consumers.requeue("dst_1", [retry]);
    await first.store.close();
    for (const name of ["retries", "retries_by_due"]) zeroPages(directory, name);

    const { store, reported } = await open(directory);
    await expect(store.consumers.lease("dst_1", 10, 20, 5)).rejects.toMatchObject(DAMAGED);
    const [requeued, appended] = await Promise.allSettled([
      store.consumers.requeue("dst_1", [retry]),
      store.log.append(idsBatch(["b"])),
    ]);
    expect(requeued).toMatchObject({ status: "rejected", reason: DAMAGED });
    expect(appended).toMatchObject({ status: "fulfilled" });
    await expect(store.consumers.outcomesOf(0 as Offset)).rejects.toMatchObject(DAMAGED);
    expect(reported[0]).toContain("retries are damaged");
    expect(store.health()).toEqual({ kind: "ready" });
  });

  it("opens a consumer without its unreadable outcomes, so those messages are sent again", async () => {
    const { store, reported } = await damaged(
      sql("UPDATE chunks SET data = zeroblob(9) WHERE stream = 0 AND min BETWEEN 60 AND 80"),
    );
    const { cursor, settledAhead } = await store.consumers.open("dst_1", BEFORE_FIRST);
    expect(cursor).toBe(49);
    expect(settledAhead.length).toBeGreaterThan(0);
    expect(settledAhead.length).toBeLessThan(50);
    expect(reported.length).toBeGreaterThan(0);
    for (const what of reported) expect(what).toMatch(/^outcomes of the messages \d+ to \d+ are damaged/);
  });

  it("opens a consumer whose outcomes are all unreadable", async () => {
    const { store, reported } = await damaged((directory) =>
      zeroPages(directory, "chunks_by_offset", allPages),
    );
    expect(await store.consumers.open("dst_1", BEFORE_FIRST)).toMatchObject({ cursor: 49, settledAhead: [] });
    expect(reported.length).toBeGreaterThan(0);
  });

  it("settles messages next to unreadable outcomes", async () => {
    const { store } = await damaged((directory) => zeroPages(directory, "chunks"));
    await store.consumers.open("dst_1", BEFORE_FIRST);
    const outcome = { offset: 99 as Offset, state: "delivered", reason: "HTTP 200", atMs: 3 } as const;
    await store.consumers.settle("dst_1", {
      cursor: 99 as Offset,
      outcomes: [outcome],
      retries: [],
      attempts: [],
    });
    expect(await store.consumers.outcomesOf(99 as Offset)).toMatchObject([{ state: "delivered" }]);
  });

  it("rolls back a settlement that fails, and stores messages that arrive at the same time", async () => {
    const { store } = await damaged((directory) => zeroPages(directory, "chunks", allPages));
    await store.consumers.open("dst_2", BEFORE_FIRST);
    const retry = {
      offset: 3 as Offset,
      rounds: 1,
      firstAttemptAtMs: 1,
      dueAtMs: 2,
      reason: "x",
      doneUrls: [],
      replay: false,
    };
    const settle = (id: string) =>
      store.consumers.settle(id, {
        cursor: 20 as Offset,
        outcomes: [{ offset: 2 as Offset, state: "delivered", reason: "a reason of its own", atMs: 3 }],
        retries: [retry],
        attempts: [],
      });
    const [first, settled, second] = await Promise.allSettled([
      store.log.append(idsBatch(["first"])),
      settle("dst_2"),
      store.log.append(idsBatch(["second"])),
    ]);
    expect(first.status).toBe("fulfilled");
    expect(settled).toMatchObject({ status: "rejected", reason: DAMAGED });
    expect(second.status).toBe("fulfilled");
    expect(store.health()).toEqual({ kind: "ready" });
    expect(await store.consumers.open("dst_2", BEFORE_FIRST)).toEqual({
      cursor: -1,
      settledAhead: [],
      retries: 0,
    });
    await expect(settle("dst_2")).rejects.toMatchObject(DAMAGED);
    expect(await store.log.append(idsBatch(["third"]))).toMatchObject({ duplicates: [] });
  });

  it("refuses to purge a user with unreadable attempts, and purges others", async () => {
    const { store } = await damaged((directory) => zeroPages(directory, "chunks"));
    await expect(store.purge({ userId: "user-0" })).rejects.toMatchObject(DAMAGED);
    // It changed nothing, so it can be repeated once the folder is repaired.
    expect((await store.log.find({ userId: "user-0" }, { limit: 5 })).items).toHaveLength(1);
    expect(await store.purge({ userId: "user-99" })).toMatchObject({ messages: 1, attempts: 1 });
    expect(await store.log.append(idsBatch(["new"]))).toMatchObject({ duplicates: [] });
    expect(store.health()).toEqual({ kind: "ready" });
  });

  it("stores a message whose id may be in an unreadable index", async () => {
    const { store, reported } = await damaged(
      sql("UPDATE sidecars SET data = x'00' WHERE key % 256 BETWEEN 128 AND 191"),
      { dedupeWindowMs: 1_000 * HOUR_MS },
    );
    expect(
      await store.log.append(idsBatch(["m3"], { receivedAtMs: RECEIVED_AT_MS + 99 * HOUR_MS })),
    ).toMatchObject({
      duplicates: [],
    });
    expect(reported).toEqual([expect.stringContaining("indexes of the log's segment")]);
    expect(store.health()).toEqual({ kind: "ready" });
  });
});

describe("work between commits that finds damaged data", () => {
  it("drops old messages although their outcomes are unreadable, and writes continue", async () => {
    let directory = "";
    const change = (folder: string) => {
      directory = folder;
      zeroPages(directory, "chunks");
    };
    const { store, clock, reported } = await damaged(change, {
      retention: { maxAgeMs: 40 * HOUR_MS },
    });
    await store.consumers.open("dst_1", BEFORE_FIRST);
    await store.consumers.settle("dst_1", { cursor: 99 as Offset, outcomes: [], retries: [], attempts: [] });
    clock.jump(100 * HOUR_MS);
    await untilDropped(store, clock, 60);
    expect(store.health()).toEqual({ kind: "ready" });
    expect(reported).toEqual([expect.stringContaining("malformed")]);
    await store.close();
    // The following units of work ran too.
    const database = new DatabaseSync(join(directory, DATABASE_FILE));
    const { oldest } = database.prepare("SELECT min(first) AS oldest FROM log_rows").get() as {
      oldest: number;
    };
    database.close();
    expect(oldest).toBeGreaterThan(50);
  });

  it("keeps the rows of a removed consumer if they are unreadable", async () => {
    const { store, clock, reported } = await damaged((directory) => zeroPages(directory, "chunks"));
    await store.consumers.remove("dst_1");
    // Other work between commits runs first.
    for (let i = 0; reported.length === 0 && i < 1_000; i++) await store.config.put("nothing", "n", i);
    for (let i = 0; i < 3; i++) {
      await clock.advance(10_000);
      expect(await store.log.append(idsBatch([`new-${i}`]))).toMatchObject({ duplicates: [] });
      expect(store.health()).toEqual({ kind: "ready" });
    }
    expect(reported).toHaveLength(1);
  });
});

describe("adjusting the due times of damaged retries", () => {
  const retryOf = (offset: number): Retry => ({
    offset: offset as Offset,
    rounds: 1,
    firstAttemptAtMs: RECEIVED_AT_MS,
    dueAtMs: RECEIVED_AT_MS + HOUR_MS,
    reason: "HTTP 503",
    doneUrls: [],
    replay: false,
  });

  /** A folder with retries that are due in an hour. Some are damaged. It is opened with the clock set back by a day. */
  async function setBack(count: number, change: (directory: string) => unknown) {
    const directory = temporaryDirectory();
    const first = await open(directory);
    await first.store.log.append(idsBatch(Array.from({ length: count }, (_, i) => `m${i}`)));
    for (const id of ["dst_1", "dst_2"]) {
      await first.store.consumers.open(id, BEFORE_FIRST);
      await first.store.consumers.requeue(
        id,
        Array.from({ length: count }, (_, i) => retryOf(i)),
      );
    }
    await first.store.close();
    change(directory);
    const clock = manualClock({ startMs: RECEIVED_AT_MS - 24 * HOUR_MS });
    const again = await open(directory, { clock });
    return { directory, ...again, clock };
  }

  /** Due times of the readable retries, relative to the time at which the store was opened again. */
  function dueTimes(directory: string): number[] {
    const database = new DatabaseSync(join(directory, DATABASE_FILE));
    const rows = database
      .prepare("SELECT due_ms FROM retries NOT INDEXED ORDER BY consumer DESC, offset DESC")
      .iterate();
    const times: number[] = [];
    try {
      for (const { due_ms: dueMs } of rows) times.push(Number(dueMs) - (RECEIVED_AT_MS - 24 * HOUR_MS));
    } catch {
      // The ones before it are lost.
    }
    database.close();
    return times;
  }

  it("moves a retry with unreadable URLs", async () => {
    const { directory, store, clock, reported } = await setBack(
      3,
      sql("UPDATE retries SET urls = '{' WHERE offset = 1 AND consumer = 1"),
    );
    await store.consumers.resumeRetries(clock.monotonic());
    await store.close();
    expect(dueTimes(directory)).toEqual(Array(6).fill(HOUR_MS));
    expect(reported).toEqual([expect.stringContaining("the retry of the message 1")]);
  });

  it("moves the retries after an unreadable page", async () => {
    const { directory, store, clock, reported } = await setBack(2_000, (folder) =>
      zeroPages(folder, "retries"),
    );
    await store.consumers.resumeRetries(clock.monotonic());
    await store.close();
    const times = dueTimes(directory);
    expect(times.length).toBeGreaterThan(3_000);
    // To write the retry next to the page, SQLite needs the page.
    expect(times.filter((dueMs) => dueMs !== HOUR_MS).length).toBeLessThan(3);
    expect(reported).toEqual(expect.arrayContaining([expect.stringContaining("retries are damaged")]));
  });

  it("moves the retries that are not in an unreadable page of the index", async () => {
    const { directory, store, clock, reported } = await setBack(2_000, (folder) =>
      zeroPages(folder, "retries_by_due"),
    );
    await store.consumers.resumeRetries(clock.monotonic());
    await store.close();
    const times = dueTimes(directory);
    expect(times).toHaveLength(4_000);
    expect(times.filter((dueMs) => dueMs === HOUR_MS).length).toBeGreaterThan(20);
    expect(reported).toEqual(expect.arrayContaining([expect.stringContaining("retries are damaged")]));
  });

  it("lets a collector start, whichever retries are damaged", async () => {
    const { directory, store } = await setBack(300, (folder) => {
      for (const name of ["retries", "retries_by_due"]) zeroPages(folder, name);
    });
    await store.close();
    const lines: { [field: string]: unknown }[] = [];
    const collector = await startCollector({
      mode: "production",
      host: "127.0.0.1",
      port: 0,
      dataDirectory: directory,
      logger: createLogger({ level: "warn", write: (line) => lines.push(JSON.parse(line)) }),
    });
    await collector.close(0);
    expect(JSON.stringify(lines)).toContain("retries are damaged");
  });
});

it("does the rest of its maintenance although refused messages are unreadable", async () => {
  const directory = temporaryDirectory();
  const first = await open(directory, { dedupeWindowMs: HOUR_MS });
  for (let i = 0; i < 40; i++)
    await first.store.log.append(idsBatch([`m${i}`], { receivedAtMs: RECEIVED_AT_MS + i }));
  const excerpt = "x".repeat(1_000);
  for (let i = 0; i < 20; i++)
    first.store.rejections.add([{ sourceId: "src_1", receivedAtMs: RECEIVED_AT_MS, issues: [], excerpt }]);
  for (let turn = 0; turn < 60; turn++) await first.store.config.put("nothing", "n", turn);
  await first.store.close();
  zeroPages(directory, "rejections");
  sql("DELETE FROM meta WHERE name = 'trusted_ms'", 0)(directory);

  const clock = manualClock({ startMs: RECEIVED_AT_MS });
  const { store, reported } = await open(directory, {
    clock,
    dedupeWindowMs: HOUR_MS,
    retention: { maxAgeMs: 2 * HOUR_MS },
  });
  clock.elapse(3 * HOUR_MS);
  await untilDropped(store, clock, 1);
  await store.close();
  const database = new DatabaseSync(join(directory, DATABASE_FILE));
  const numberOf = (query: string) => Object.values(database.prepare(query).get() ?? {})[0];
  // The newest sealed segment stays.
  expect(numberOf("SELECT count(*) FROM segments")).toBe(1);
  expect(numberOf("SELECT value FROM meta WHERE name = 'trusted_ms'")).toBeGreaterThan(RECEIVED_AT_MS);
  database.close();
  expect(reported).toEqual([expect.stringContaining("malformed")]);
});
