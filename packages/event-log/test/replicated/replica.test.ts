import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@sluice/resilience";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it, vi } from "vitest";
import { BEFORE_FIRST, offsetAt } from "../../src/message/batch.js";
import { DATABASE_FILE } from "../../src/sqlite/database/database-files.js";
import { batchOf, idsBatch } from "../batches.js";
import { FOREVER, leadSafely, testClusters, untilStatus } from "./cluster.js";
import { contentsOf } from "./copy-contents.js";

const newCluster = testClusters();
const ALL = { messages: 1_000, bytes: 1e9 };

it("hands over, with everything that was acknowledged, and the copies are equal", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const b = await cluster.open("b");
  const first = await leadSafely(a, 1);
  expect(await first.store.log.append(idsBatch(["x", "y", "x"]))).toEqual({ duplicates: [2] });
  await first.store.config.put("source", "s1", { name: "S" });
  await first.profiles.commit({ identities: [["u:1", 1]], documents: [["d", "{}"]] });
  await first.profiles.commit({ identities: [["u:1", undefined]] });
  await first.stepDown();
  expect(a.status().role).toBe("following");

  const second = await leadSafely(b, 2);
  expect(await second.store.log.append(idsBatch(["x", "z"]))).toEqual({ duplicates: [0] });
  expect((await second.store.log.read(BEFORE_FIRST, ALL)).length).toBe(2);
  expect(await second.store.config.get("source", "s1")).toMatchObject({ value: { name: "S" } });
  expect(await second.profiles.resolve(["u:1"])).toEqual(new Map());
  expect(await second.profiles.documents()).toEqual(new Map([["d", "{}"]]));
  await second.stepDown();
  await a.caughtUp(FOREVER);
  await cluster.close(a);
  await cluster.close(b);
  expect(contentsOf(cluster.folderOf("a"))).toEqual(contentsOf(cluster.folderOf("b")));
});

it("loads a snapshot where the log no longer has the beginning, and then follows", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const { store, profiles, stepDown } = await leadSafely(a);
  for (const id of ["x", "y", "z"]) await store.log.append(idsBatch([id]));
  await profiles.commit({ documents: [["d", "1"]] });
  // Nothing of the log before the compaction's snapshot is left.
  await store.compact();
  expect(cluster.engines.log.bounds.first).toBeGreaterThan(4);
  await store.log.append(idsBatch(["after"]));

  const b = await cluster.open("b");
  await b.caughtUp(FOREVER);
  await stepDown();
  const next = await leadSafely(b, 2);
  expect(await next.store.log.append(idsBatch(["x", "y", "z", "after"]))).toEqual({
    duplicates: [0, 1, 2, 3],
  });
  expect(await next.profiles.documents()).toEqual(new Map([["d", "1"]]));
  await next.stepDown();
  await a.caughtUp(FOREVER);
  await cluster.close(a);
  await cluster.close(b);
  expect(contentsOf(cluster.folderOf("b"))).toEqual(contentsOf(cluster.folderOf("a")));
});

it("builds a wiped copy again, from the log or from a follower's snapshot", async () => {
  const cluster = newCluster();
  let a = await cluster.open("a");
  const { store, stepDown } = await leadSafely(a);
  await store.log.append(idsBatch(["x"]));
  await stepDown();
  await cluster.close(a);
  rmSync(cluster.folderOf("a"), { recursive: true });
  a = await cluster.open("a");
  await a.caughtUp(FOREVER);
  expect(a.status()).toMatchObject({ role: "following", applied: 2, last: 2 });
  const record = await a.snapshot();
  expect(record.metadata.sequence).toBe("2");
  cluster.engines.log.trim(2);

  const b = await cluster.open("b");
  await b.caughtUp(FOREVER);
  const next = await leadSafely(b, 2);
  expect(await next.store.log.append(idsBatch(["x"]))).toEqual({ duplicates: [0] });
});

it("knows the messages of earlier owners, also when a copy leads that had contained nothing", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const first = await leadSafely(a);
  await first.store.log.append(idsBatch(["x"]));
  await first.stepDown();
  const second = await leadSafely(await cluster.open("b"), 2);
  expect(await second.store.log.append(idsBatch(["x"]))).toEqual({ duplicates: [0] });
});

it("sets a damaged copy aside and builds a new one", async () => {
  const damages: string[] = [];
  const cluster = newCluster();
  let a = await cluster.open("a");
  const { store, stepDown } = await leadSafely(a);
  await store.log.append(idsBatch(["x"]));
  await stepDown();
  await cluster.close(a);
  const copy = join(cluster.folderOf("a"), "copy");
  writeFileSync(join(copy, DATABASE_FILE), Buffer.alloc(100_000, "no database"));
  a = await cluster.open("a", { onDamage: (what) => damages.push(what) });
  await a.caughtUp(FOREVER);
  expect(damages.join("\n")).toContain("is damaged");
  expect(damages.join("\n")).toContain("copy.damaged");
  expect(existsSync(`${copy}.damaged`)).toBe(true);
  const next = await leadSafely(a, 2);
  expect(await next.store.log.append(idsBatch(["x"]))).toEqual({ duplicates: [0] });
});

it("says what is wrong when entries are missing, and goes on when a snapshot appears", async () => {
  const problems: string[] = [];
  const cluster = newCluster();
  const a = await cluster.open("a");
  const { store, stepDown } = await leadSafely(a);
  await store.log.append(idsBatch(["x"]));
  cluster.engines.log.trim(2);
  const b = await cluster.open("b", { onProblem: (what) => problems.push(what) });
  await untilStatus(b, ({ problem }) => problem !== undefined);
  expect(b.status()).toMatchObject({ role: "loading", applied: 0 });
  expect(problems[0]).toBe("the log begins at entry 3, and there is no snapshot");
  await expect(leadSafely(b, 2)).rejects.toThrow("the replica is loading");
  await a.snapshot();
  await untilStatus(b, ({ role, applied }) => role === "following" && applied === 2);
  await stepDown();
});

it("loads an older snapshot where the newest one is damaged", async () => {
  const cluster = newCluster();
  const { log, snapshots } = cluster.engines;
  const a = await cluster.open("a");
  const { store, stepDown } = await leadSafely(a);
  await store.log.append(idsBatch(["x"]));
  const older = await a.snapshot();
  const [kept] = snapshots.list();
  const bytes = snapshots.get(older.name) as Uint8Array;
  await store.log.append(idsBatch(["y"]));
  const newest = await a.snapshot();
  snapshots.damage(newest.name);
  log.trim(2);
  // As if the process that made the newest one had ended before it removed the older one.
  await snapshots.put(
    older.name,
    kept?.metadata ?? {},
    (async function* () {
      yield bytes;
    })(),
  );
  const b = await cluster.open("b");
  await b.caughtUp(FOREVER);
  await stepDown();
  const next = await leadSafely(b, 2);
  expect(await next.store.log.append(idsBatch(["x", "y", "z"]))).toEqual({ duplicates: [0, 1] });
});

it("says that the only snapshot is damaged, and keeps the copy that it has", async () => {
  const problems: string[] = [];
  const cluster = newCluster();
  const { log, snapshots } = cluster.engines;
  let b = await cluster.open("b");
  const a = await cluster.open("a");
  const { store, stepDown } = await leadSafely(a);
  await store.log.append(idsBatch(["x"]));
  await b.caughtUp(FOREVER);
  await cluster.close(b);
  await store.log.append(idsBatch(["y"]));
  const { name } = await a.snapshot();
  snapshots.damage(name);
  log.trim(3);
  b = await cluster.open("b", { onProblem: (what) => problems.push(what) });
  await untilStatus(b, ({ problem }) => problem !== undefined);
  expect(b.status()).toMatchObject({ role: "loading", applied: 2 });
  expect(problems).toEqual([`the snapshot ${name} does not have the bytes that were stored`]);
  expect(readdirSync(cluster.folderOf("b"))).toEqual(["copy"]);
  await stepDown();
});

type TestSnapshots = ReturnType<typeof newCluster>["engines"]["snapshots"];

it.each([
  ["differs from its digest", async (snapshots: TestSnapshots, name: string) => snapshots.damage(name)],
  [
    "was made of a damaged copy",
    async (snapshots: TestSnapshots, name: string) => {
      const [record] = snapshots.list();
      async function* noDatabase() {
        yield new Uint8Array(record?.bytes ?? 0).fill(7);
      }
      await snapshots.put(name, record?.metadata ?? {}, noDatabase());
    },
  ],
])(
  "loads a snapshot that %s less and less often, and goes on when there is a good one",
  async (_, damage) => {
    const cluster = newCluster();
    const { log, snapshots } = cluster.engines;
    const a = await cluster.open("a");
    const { store, stepDown } = await leadSafely(a);
    await store.log.append(idsBatch(["x"]));
    const { name } = await a.snapshot();
    await damage(snapshots, name);
    log.trim(2);

    const clock = manualClock();
    let failed = Promise.withResolvers<number | undefined>();
    const downloads = vi.spyOn(snapshots, "get");
    const b = await cluster.open("b", {
      clock,
      onProblem: (_what, againAfterMs) => failed.resolve(againAfterMs),
    });
    const waitedMs: number[] = [];
    for (let tries = 1; tries <= 8; tries++) {
      const againAfterMs = (await failed.promise) ?? Number.NaN;
      expect(downloads).toHaveBeenCalledTimes(tries);
      waitedMs.push(againAfterMs);
      failed = Promise.withResolvers();
      if (tries === 8) await a.snapshot();
      await clock.advance(againAfterMs);
    }
    // Three quarters of 2, 4, 8, … s and at most a minute, because the clock's chance is in the middle.
    expect(waitedMs).toEqual([1_500, 3_000, 6_000, 12_000, 24_000, 45_000, 45_000, 45_000]);
    await untilStatus(b, ({ role, applied }) => role === "following" && applied === 2);
    await stepDown();
  },
);

it("knows how old the newest snapshot is, and how much of the log it lacks", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const b = await cluster.open("b", { snapshotEveryBytes: 20_000 });
  const { store, stepDown } = await leadSafely(a);
  expect(a.status().snapshot).toMatchObject({ madeAtMs: undefined });
  const beganMs = systemClock.now();
  const text = "x".repeat(9_000);
  for (const id of ["1", "2", "3"]) await store.log.append(batchOf([{ messageId: id, text }]));
  await untilStatus(b, ({ snapshot }) => snapshot.madeAtMs !== undefined);
  const { madeAtMs = 0, bytesSince } = b.status().snapshot;
  expect(madeAtMs).toBeGreaterThanOrEqual(beganMs);
  expect(bytesSince).toBe(0);
  await stepDown();
  // A process that begins later learns it from the snapshot.
  const c = await cluster.open("c");
  await untilStatus(c, ({ snapshot }) => snapshot.madeAtMs === madeAtMs);
});

it("leaves no byte of a purged user in any copy, in the log, or in a snapshot", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const b = await cluster.open("b");
  const { store, profiles, stepDown } = await leadSafely(a);
  const secret = "ann-4711";
  await store.log.append(batchOf([{ messageId: "m1", userId: secret }]));
  await store.log.append(batchOf([{ messageId: "m2", userId: "other" }]));
  await profiles.commit({ identities: [[`u:${secret}`, 1]] });
  await b.snapshot();
  await store.purge({ userId: secret });
  await profiles.commit({ identities: [[`u:${secret}`, undefined]] });
  await store.compact();

  const { log, snapshots } = cluster.engines;
  expect(log.bounds.first).toBe(log.bounds.last + 1);
  const left = snapshots.list();
  expect(left).toHaveLength(1);
  expect(Buffer.from(snapshots.get(left[0]?.name ?? "") ?? "").includes(secret)).toBe(false);
  // The follower compacts in its free time, in the order of its background work.
  await untilStatus(b, ({ applied }) => applied === log.bounds.last);
  await stepDown();
  await cluster.close(a);
  await cluster.close(b);
  for (const node of ["a", "b"]) {
    const copy = join(cluster.folderOf(node), "copy");
    const files = readdirSync(copy).filter((file) => readFileSync(join(copy, file)).includes(secret));
    expect(files).toEqual([]);
  }
});

it("stores nothing of a purged message in any copy, also in one that was opened again or comes from a snapshot", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  let b = await cluster.open("b");
  const { store, stepDown } = await leadSafely(a);
  await store.log.append(batchOf([{ messageId: "m1", userId: "ann-4711" }]));
  await store.consumers.open("dst", BEFORE_FIRST);
  await store.purge({ userId: "ann-4711" });
  await b.caughtUp(FOREVER);
  await cluster.close(b);
  b = await cluster.open("b");
  await a.snapshot();
  cluster.engines.log.trim(a.status().applied);
  const c = await cluster.open("c");
  // The attempt was under way when the message was purged.
  const offset = offsetAt(BEFORE_FIRST, 1);
  await store.consumers.settle("dst", {
    cursor: BEFORE_FIRST,
    outcomes: [],
    retries: [
      {
        ...{ offset, rounds: 1, firstAttemptAtMs: 1, dueAtMs: 2 },
        reason: "ann-4711",
        doneUrls: [],
        replay: false,
      },
    ],
    attempts: [{ ...{ offset, attempt: 1, atMs: 1, latencyMs: 1 }, url: "https://x/", response: "ann-4711" }],
  });
  await stepDown();
  const replicas = { a, b, c };
  for (const replica of Object.values(replicas)) {
    await replica.caughtUp(FOREVER);
    await cluster.close(replica);
  }
  const [first, ...others] = Object.keys(replicas).map((node) => contentsOf(cluster.folderOf(node)));
  expect(first?.retries).toEqual([]);
  for (const other of others) expect(other).toEqual(first);
});

it("waits with a deletion's snapshot until a backup has ended", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const { store } = await leadSafely(a);
  await store.log.append(idsBatch(["x"]));
  await store.snapshots?.begin();
  const compacted = store.compact();
  while (cluster.engines.log.bounds.last < 3) await new Promise((resolve) => setImmediate(resolve));
  expect(cluster.engines.snapshots.list()).toEqual([]);
  await store.snapshots?.end();
  await compacted;
  expect(cluster.engines.snapshots.list()).toHaveLength(1);
});

it("shares a snapshot among compactions that wait for one", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const { store } = await leadSafely(a);
  await store.log.append(idsBatch(["x"]));
  const { snapshots } = cluster.engines;
  let uploads = 0;
  const put = snapshots.put.bind(snapshots);
  Object.assign(snapshots, {
    put: (...args: Parameters<typeof put>) => {
      uploads += 1;
      return put(...args);
    },
  });
  await Promise.all(Array.from({ length: 30 }, () => store.compact()));
  expect(uploads).toBe(2);
  await store.compact();
  expect(uploads).toBe(3);
});

it("ends a compaction with leading, and the next owner does it again", async () => {
  const cluster = newCluster();
  const a = await cluster.open("a");
  const b = await cluster.open("b");
  const first = await leadSafely(a);
  await first.store.log.append(idsBatch(["x"]));
  const { snapshots } = cluster.engines;
  const put = snapshots.put.bind(snapshots);
  const isUploading = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  Object.assign(snapshots, {
    async put(name: string, metadata: Record<string, string>, parts: AsyncIterable<Uint8Array>) {
      isUploading.resolve();
      await goOn.promise;
      return put(name, metadata, parts);
    },
  });
  const compactions = [first.store.compact(), first.store.compact()];
  const settled = Promise.allSettled(compactions);
  await isUploading.promise;
  await first.stepDown();
  goOn.resolve();
  expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(snapshots.list()).toEqual([]);
  const second = await leadSafely(b, 2);
  await second.store.compact();
  expect(snapshots.list()).toHaveLength(1);
});
