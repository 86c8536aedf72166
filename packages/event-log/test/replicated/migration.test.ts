import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "@sluice/resilience";
import { expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import type { Store } from "../../src/ports/store.js";
import type { MigrationProgress } from "../../src/replicated/migration/migration-result.js";
import { type MoveInOptions, moveIn } from "../../src/replicated/migration/move-in.js";
import { type MoveOutOptions, moveOut } from "../../src/replicated/migration/move-out.js";
import { openReplica } from "../../src/replicated/open-replica.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { openSqliteProfileStore } from "../../src/sqlite/profiles/profiles.js";
import { idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { openMemoryEngines } from "../memory-engine/open-memory-engines.js";
import { temporaryDirectories } from "../temporary-directory.js";
import { FOREVER, leadSafely, untilStatus } from "./cluster.js";

const newDirectory = temporaryDirectories();
const ALL = { messages: 1_000, bytes: 1e9 };
/** On a busy machine, a run takes seconds. */
const TIMEOUT = { timeout: 120_000 };
const at = (offset: number): Offset => offset as Offset;

const openPlain = (directory: string): Promise<Store> => openSqliteStore({ directory, clock: systemClock });

/** A folder with messages, a waiting retry, a failed delivery, documents and profiles. */
async function filledFolder(): Promise<string> {
  const directory = newDirectory();
  const store = await openPlain(directory);
  for (const ids of [["a", "b"], ["c"], ["d", "e"]]) await store.log.append(idsBatch(ids));
  await store.consumers.open("dst_1", BEFORE_FIRST);
  const dueAtMs = systemClock.monotonic() + 3_600_000;
  await store.consumers.settle("dst_1", {
    cursor: at(3),
    outcomes: [
      { offset: at(0), state: "delivered", reason: "200", atMs: RECEIVED_AT_MS },
      { offset: at(1), state: "failed", reason: "410", atMs: RECEIVED_AT_MS },
    ],
    retries: [
      {
        ...{ offset: at(2), rounds: 1, firstAttemptAtMs: systemClock.monotonic(), dueAtMs },
        ...{ reason: "503", doneUrls: [], replay: false },
      },
    ],
    attempts: [{ offset: at(1), attempt: 1, atMs: RECEIVED_AT_MS, url: "https://e.example/", latencyMs: 1 }],
  });
  await store.config.put("source", "s1", { name: "Söurce" });
  await store.close();
  const profiles = openSqliteProfileStore({ directory });
  await profiles.commit({
    profiles: [{ number: 1, body: '{"traits":{}}', firstSeenMs: 1, lastSeenMs: 2 }],
    identities: [["u:u1", 1]],
    members: [["aud_1", 1, 5]],
    documents: [["definitions", "{}"]],
    cursor: at(3),
    isSynced: true,
  });
  await profiles.close();
  return directory;
}

const COUNTS = {
  ...{ messages: 5, sources: 1, consumers: 1, retries: 1, documents: 1, profiles: 1, identities: 1 },
  memberships: 1,
};

function countsOf(contents: object): object {
  const counts = Object.entries(contents).map(([name, { count }]) => [name, count]);
  return Object.fromEntries(counts.filter(([name]) => Object.hasOwn(COUNTS, name)));
}

function world() {
  const engines = openMemoryEngines();
  const common = (over: Partial<MoveInOptions>) => ({
    ...{ engine: engines.engineFor("migration"), clock: systemClock, onProgress() {}, signal: FOREVER },
    ...over,
  });
  return {
    engines,
    moveIn: (directory: string, over: Partial<MoveInOptions> = {}) => moveIn({ directory, ...common(over) }),
    moveOut: (directory: string, over: Partial<MoveOutOptions> = {}) =>
      moveOut({ directory, cluster: "c1", ...common(over as object), ...over }),
    replica: (node: string, directory = newDirectory()) =>
      openReplica({ directory, engine: engines.engineFor(node), clock: systemClock, node }),
  };
}

it("moves a folder into a cluster and back, with everything in it", async () => {
  const { engines, ...cluster } = world();
  const from = await filledFolder();
  const moved = await cluster.moveIn(from);
  expect(moved.kind).toBe("done");
  expect(countsOf(moved.source)).toEqual(COUNTS);
  expect(moved.result).toEqual(moved.source);
  // Nothing is left in the folder but its own files.
  expect(readdirSync(from).sort()).toEqual(["profiles.db", "sluice.db"]);
  expect(engines.log.bounds).toEqual({ first: 2, last: 1 });
  expect((await cluster.moveIn(from)).kind).toBe("done before");

  const replica = await cluster.replica("a");
  await untilStatus(replica, ({ role, applied }) => role === "following" && applied === 1);
  const { store, profiles, stepDown } = await leadSafely(replica);
  expect(await store.log.append(idsBatch(["a", "c", "f"]))).toEqual({ duplicates: [0, 1] });
  expect(await store.config.get("source", "s1")).toMatchObject({ value: { name: "Söurce" } });
  expect(await profiles.resolve(["u:u1"])).toEqual(new Map([["u:u1", 1]]));
  await profiles.commit({ identities: [["u:u2", 1]] });
  await stepDown();
  await replica.close();

  const to = join(newDirectory(), "back");
  const back = await cluster.moveOut(to);
  expect(countsOf(back.result)).toEqual({ ...COUNTS, messages: 6, identities: 2 });
  expect(back.result).toEqual(back.source);
  expect(readdirSync(to).sort()).toEqual(["profiles.db", "sluice.db"]);
  const plain = await openPlain(to);
  expect(await plain.log.append(idsBatch(["e", "f", "g"]))).toEqual({ duplicates: [0, 1] });
  expect(await plain.consumers.open("dst_1", BEFORE_FIRST)).toMatchObject({ cursor: 3, retries: 1 });
  expect((await plain.log.read(BEFORE_FIRST, ALL)).length).toBeGreaterThan(0);
  await plain.close();
  // A folder that came from a cluster is a folder like any other.
  const again = world();
  expect((await again.moveIn(to)).result.messages.count).toBe(7);
});

it("moves what only the log of a folder has, as a crash leaves it", async () => {
  const cluster = world();
  const from = await filledFolder();
  const store = await openPlain(from);
  await store.log.append(idsBatch(["f", "g"]));
  const crashed = join(newDirectory(), "crashed");
  cpSync(from, crashed, { recursive: true });
  await store.close();
  expect(readdirSync(crashed)).toContain("entries.log");
  expect((await cluster.moveIn(crashed)).result.messages.count).toBe(7);
  expect(readdirSync(crashed).sort()).toEqual(["profiles.db", "sluice.db"]);
});

it("refuses a folder that is in use, with entries that only its log has", async () => {
  const cluster = world();
  const from = await filledFolder();
  const store = await openPlain(from);
  await store.log.append(idsBatch(["f"]));
  await expect(cluster.moveIn(from)).rejects.toThrow(/in use by another process/);
  await store.close();
});

/** What a backup of a cluster restores: the files of a copy, with the marks of the log that it came from. */
async function restoredFolder(): Promise<string> {
  const cluster = world();
  await cluster.moveIn(await filledFolder());
  const directory = newDirectory();
  const replica = await cluster.replica("a", directory);
  await untilStatus(replica, ({ role, applied }) => role === "following" && applied === 1);
  const { store, profiles, stepDown } = await leadSafely(replica);
  for (let entry = 0; entry < 20; entry++) await store.log.append(idsBatch([`of the backup ${entry}`]));
  await profiles.commit({ identities: [["u:u2", 1]], cursor: at(10) });
  await stepDown();
  await replica.close();
  const restored = newDirectory();
  cpSync(join(directory, "copy"), restored, { recursive: true });
  return restored;
}

it("counts on in the profiles of a restored backup, in every copy", TIMEOUT, async () => {
  const cluster = world();
  await cluster.moveIn(await restoredFolder());
  const identitiesIn = async (node: string, term: number, more: string) => {
    const replica = await cluster.replica(node);
    await untilStatus(
      replica,
      ({ role, applied, last }) => role === "following" && applied >= last && last > 0,
    );
    const { profiles, stepDown } = await leadSafely(replica, term);
    const before = [...(await profiles.resolve(["u:u2", "u:first", "u:second", "u:third"])).keys()];
    const cursor = await profiles.cursor();
    await profiles.commit({ identities: [[more, 1]], cursor: at(20 + term) });
    expect([...(await profiles.resolve([more])).keys()]).toEqual([more]);
    if (term === 2) await replica.snapshot();
    await stepDown();
    await replica.close();
    return { before, cursor };
  };
  expect(await identitiesIn("a", 1, "u:first")).toEqual({ before: ["u:u2"], cursor: 10 });
  // Copies that begin with nothing: from the snapshot of the migration, and from one of a copy that counted on.
  expect(await identitiesIn("b", 2, "u:second")).toEqual({ before: ["u:u2", "u:first"], cursor: 21 });
  expect(await identitiesIn("c", 3, "u:third")).toEqual({
    ...{ before: ["u:u2", "u:first", "u:second"], cursor: 22 },
  });
  const { result } = await cluster.moveOut(join(newDirectory(), "back"));
  expect(result.identities.count).toBe(5);
});

class Killed extends Error {}

/** Ends a run where a step begins. */
function killedAt(wanted: MigrationProgress["step"]) {
  return {
    onProgress({ step }: MigrationProgress) {
      if (step === wanted) throw new Killed();
    },
  };
}

it.each(["copy", "upload"] as const)("goes on after it was killed at: %s", TIMEOUT, async (step) => {
  const cluster = world();
  const from = await filledFolder();
  await expect(cluster.moveIn(from, killedAt(step))).rejects.toThrow(Killed);
  expect(cluster.engines.log.bounds.last).toBe(step === "copy" ? 0 : 1);
  expect((await cluster.moveIn(from)).kind).toBe("done");
});

it("keeps processes from beginning while a migration is half there", TIMEOUT, async () => {
  const cluster = world();
  const from = await filledFolder();
  await expect(cluster.moveIn(from, killedAt("check"))).rejects.toThrow(Killed);
  const replica = await cluster.replica("a");
  await untilStatus(replica, ({ problem }) => problem !== undefined);
  expect(replica.status()).toMatchObject({
    applied: 0,
    problem: expect.stringContaining("a migration into this cluster is not finished"),
  });
  // It begins when the migration is finished.
  expect((await cluster.moveIn(from)).kind).toBe("done");
  await untilStatus(replica, ({ role, applied }) => role === "following" && applied === 1);
  await replica.close();
});

it("makes no folder valid that is not whole, and goes on", TIMEOUT, async () => {
  const cluster = world();
  await cluster.moveIn(await filledFolder());
  const replica = await cluster.replica("a");
  await untilStatus(replica, ({ role, applied }) => role === "following" && applied === 1);
  const { store, stepDown } = await leadSafely(replica);
  for (const id of ["x", "y", "z"]) await store.log.append(idsBatch([id]));
  await stepDown();
  await replica.close();
  const to = join(newDirectory(), "back");
  for (const step of ["download", "read log", "check"] as const) {
    await expect(cluster.moveOut(to, killedAt(step))).rejects.toThrow(Killed);
    expect(existsSync(join(to, "sluice.db"))).toBe(false);
  }
  // The files were ready to be moved.
  const check = () => Promise.reject(new Killed());
  await expect(cluster.moveOut(to, { check })).rejects.toThrow(Killed);
  expect((await cluster.moveOut(to)).result.messages.count).toBe(8);
});

it("uploads nothing again that is whole already", async () => {
  const cluster = world();
  const from = await filledFolder();
  const steps: string[] = [];
  const stopped = cluster.moveIn(from, {
    onProgress({ step }) {
      steps.push(step);
      // The second check is the one after the upload.
      if (step === "check") throw new Killed();
    },
  });
  await expect(stopped).rejects.toThrow(Killed);
  expect(steps).toContain("upload");
  steps.length = 0;
  expect((await cluster.moveIn(from, { onProgress: ({ step }) => steps.push(step) })).kind).toBe("done");
  expect(steps).toEqual(["count source", "check"]);
});

it("takes what has changed in the folder since it was killed", async () => {
  const cluster = world();
  const from = await filledFolder();
  await cluster.moveIn(from, killedAt("upload")).catch(() => {});
  const store = await openPlain(from);
  await store.log.append(idsBatch(["late"]));
  await store.close();
  expect((await cluster.moveIn(from)).result.messages.count).toBe(6);
  // From then on, the folder and the cluster go separate ways.
  const later = await openPlain(from);
  await later.log.append(idsBatch(["later"]));
  await later.close();
  await expect(cluster.moveIn(from)).rejects.toMatchObject({ code: "cluster_has_data" });
});

it("goes on when the engine was cut off", async () => {
  const cluster = world();
  const from = await filledFolder();
  const faults = cluster.engines.faultsOf("migration");
  const cut = cluster.moveIn(from, { onProgress: ({ step }) => step === "upload" && faults.cut() });
  await expect(cut).rejects.toThrow("the engine cannot be reached");
  faults.heal();
  expect((await cluster.moveIn(from)).kind).toBe("done");
});

it("refuses what it must not mix or read", TIMEOUT, async () => {
  const from = await filledFolder();
  const other = await filledFolder();

  const used = world();
  const replica = await used.replica("a");
  await (await leadSafely(replica)).stepDown();
  await replica.close();
  await expect(used.moveIn(from)).rejects.toMatchObject({ code: "cluster_has_data" });

  const begun = world();
  await begun.moveIn(other, killedAt("upload")).catch(() => {});
  await expect(begun.moveIn(from)).rejects.toMatchObject({ code: "other_migration" });
  await expect(begun.moveOut(join(newDirectory(), "x"))).rejects.toMatchObject({ code: "other_migration" });

  const empty = world();
  await expect(empty.moveOut(join(newDirectory(), "x"))).rejects.toMatchObject({ code: "cluster_is_empty" });
  await expect(empty.moveIn(newDirectory())).rejects.toMatchObject({ code: "no_data" });
  const running = await openPlain(from);
  await expect(empty.moveIn(from)).rejects.toMatchObject({
    code: "folder_in_use",
    message: expect.stringContaining("Stop the collector"),
  });
  await running.close();
  for (const [file, text] of [
    ["sluice.db", "written by a newer version"],
    ["profiles.db", "written by a newer version"],
  ] as const) {
    const newer = await filledFolder();
    const database = new DatabaseSync(join(newer, file));
    database.exec("PRAGMA user_version = 99");
    database.close();
    await expect(empty.moveIn(newer)).rejects.toMatchObject({
      code: "folder_unusable",
      message: expect.stringContaining(text),
    });
  }
  const damaged = await filledFolder();
  const database = new DatabaseSync(join(damaged, "sluice.db"));
  database.exec("UPDATE log_rows SET body = x'00'");
  database.close();
  await expect(empty.moveIn(damaged)).rejects.toThrow("sluice repair");
  // Nothing of all that has touched the cluster.
  expect(empty.engines.log.bounds.last).toBe(0);

  const target = newDirectory();
  writeFileSync(join(target, "notes.txt"), "");
  await expect(used.moveOut(target)).rejects.toMatchObject({ code: "folder_not_empty" });
  await expect(used.moveOut(from)).rejects.toMatchObject({ code: "folder_not_empty" });
});

it("refuses a folder whose cluster went on meanwhile, and then takes the rest", async () => {
  const cluster = world();
  await cluster.moveIn(await filledFolder());
  const replica = await cluster.replica("a");
  await untilStatus(replica, ({ role, applied }) => role === "following" && applied === 1);
  const { store, stepDown } = await leadSafely(replica);
  const to = join(newDirectory(), "back");
  const check = async () => {
    await store.log.append(idsBatch(["late"]));
  };
  await expect(cluster.moveOut(to, { check })).rejects.toMatchObject({ code: "not_at_the_end" });
  expect(existsSync(join(to, "sluice.db"))).toBe(false);
  await stepDown();
  await replica.close();
  mkdirSync(join(to, "migration.download"), { recursive: true });
  // An earlier run for another cluster of the same name is not continued.
  expect((await cluster.moveOut(to, { cluster: "c2" })).result.messages.count).toBe(6);
});
