import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@sluice/resilience";
import { syncDirectory } from "../../file-log/beginning.js";
import type { Applied } from "../../sqlite/calls/applied.js";
import { DATABASE_FILE } from "../../sqlite/database/database.js";
import { PROFILES_FILE } from "../../sqlite/profiles/profiles-file.js";
import { Copy, workerOptions } from "../copy.js";
import { EntriesTrimmed, type ReplicationEngine } from "../engine.js";
import { lostEntries } from "../leading/take-over.js";
import { loadSnapshot } from "../snapshots/load-snapshot.js";
import { type Contents, differences } from "./contents.js";
import { MIGRATION_NODE, makePlain, moveInState } from "./migration-mark.js";
import type { MigrationProgress, MigrationResult } from "./migration-result.js";
import { MigrationDiffers, MigrationRefused } from "./migration-result.js";
import { contentsOfFolder } from "./read-folder.js";

/** In the folder to make, until it is whole. A collector does not start on a folder that has it and no database. */
export const DOWNLOAD_FOLDER = "migration.download";
/** An operator may put it into the new folder. */
const SECRET_KEY = "secret.key";
/** In the download folder: of which cluster it is. */
const CLUSTER_FILE = "cluster.json";
/** In the download folder: what the cluster contains, when the files are ready to be moved. */
const CHECKED_FILE = "checked.json";
/** Entries that are on their way to the copy's thread at most. */
const MOST_UNDER_WAY = 8;

export interface MoveOutOptions {
  /** The data folder to make: missing, empty, or begun by the same call. */
  readonly directory: string;
  readonly engine: ReplicationEngine;
  /** Names the cluster, and no other one of the same name. */
  readonly cluster: string;
  readonly clock: Clock;
  readonly onProgress: (progress: MigrationProgress) => void;
  readonly signal: AbortSignal;
  /** Called before the last step. Rejects if a process uses the cluster. */
  readonly check?: () => Promise<void>;
}

/**
 * Makes a plain data folder of a cluster that no process uses: loads its newest snapshot, applies the rest of the log, and compares.
 * Nothing in the cluster changes. The last step gives the database its name. When it ends before that, the same call goes on.
 */
export async function moveOut(options: MoveOutOptions): Promise<MigrationResult> {
  const { directory, engine, signal, onProgress } = options;
  const finished = await finishedBefore(options);
  if (finished !== undefined) return finished;
  checkTarget(directory);
  await checkCluster(engine);
  const work = join(directory, DOWNLOAD_FOLDER);
  begin(directory, work, options.cluster);
  const copy = join(work, "copy");
  const applied = await catchUp(copy, options);
  onProgress({ step: "check" });
  const source = await contentsOfFolder(copy, signal);
  const plain = join(work, "plain");
  renameSync(copy, plain);
  await makePlain(plain);
  const result = await contentsOfFolder(plain, signal);
  if (differences(source, result).length > 0) {
    rmSync(work, { recursive: true });
    throw new MigrationDiffers("the folder does not have what the cluster has", source, result);
  }
  await options.check?.();
  const { last } = await engine.log.bounds();
  if (last !== applied.sequence)
    throw new MigrationRefused(
      "not_at_the_end",
      `the log went on to entry ${last} after entry ${applied.sequence} was read: a collector of the cluster runs. Stop all of them, and run the command again`,
    );
  signal.throwIfAborted();
  finish(directory, plain, source);
  return { kind: "done", source, result };
}

/** Gives the files their names. The database is the last: without it, the folder counts as not whole. */
function finish(directory: string, plain: string, contents: Contents): void {
  writeFileSync(join(directory, DOWNLOAD_FOLDER, CHECKED_FILE), JSON.stringify(contents));
  for (const name of [PROFILES_FILE, DATABASE_FILE]) {
    renameSync(join(plain, name), join(directory, name));
    syncDirectory(directory);
  }
  rmSync(join(directory, DOWNLOAD_FOLDER), { recursive: true });
}

/** A run that ended after its last step left only files to remove. */
async function finishedBefore({ directory, signal }: MoveOutOptions): Promise<MigrationResult | undefined> {
  const work = join(directory, DOWNLOAD_FOLDER);
  const checked = join(work, CHECKED_FILE);
  if (!existsSync(join(directory, DATABASE_FILE)) || !existsSync(checked)) return undefined;
  const source = JSON.parse(readFileSync(checked, "utf8")) as Contents;
  const result = await contentsOfFolder(directory, signal);
  if (differences(source, result).length > 0)
    throw new MigrationDiffers(
      `${directory} was complete and has changed since: remove ${work}`,
      source,
      result,
    );
  rmSync(work, { recursive: true });
  return { kind: "done before", source, result };
}

function checkTarget(directory: string): void {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  const isBegun = names.includes(DOWNLOAD_FOLDER) && !names.includes(DATABASE_FILE);
  const others = names.filter(
    (name) => name !== SECRET_KEY && !(isBegun && [DOWNLOAD_FOLDER, PROFILES_FILE].includes(name)),
  );
  if (others.length === 0) return;
  const some = others.sort().slice(0, 3).join(", ");
  throw new MigrationRefused(
    "folder_not_empty",
    `${directory} is not empty (it has ${some}), and nothing is merged. Choose a folder that does not exist`,
  );
}

async function checkCluster(engine: ReplicationEngine): Promise<void> {
  const { kind } = await moveInState(engine);
  if (kind === "empty")
    throw new MigrationRefused("cluster_is_empty", "the cluster has no data: no collector ever ran in it");
  if (kind === "begun")
    throw new MigrationRefused(
      "other_migration",
      "a migration into this cluster is not finished, so it has no data yet",
    );
}

/** Keeps what an earlier run has loaded of the same cluster. */
function begin(directory: string, work: string, cluster: string): void {
  const file = join(work, CLUSTER_FILE);
  const isSame = existsSync(file) && readFileSync(file, "utf8") === cluster;
  if (!isSame) rmSync(work, { recursive: true, force: true });
  // It was no copy any more.
  rmSync(join(work, "plain"), { recursive: true, force: true });
  rmSync(join(directory, PROFILES_FILE), { force: true });
  mkdirSync(work, { recursive: true, mode: 0o700 });
  writeFileSync(file, cluster, { mode: 0o600 });
}

/** Makes the folder a closed copy that contains everything in the log. */
async function catchUp(copy: string, options: MoveOutOptions): Promise<Applied> {
  try {
    return await applyRest(copy, options);
  } catch (error) {
    if (!(error instanceof EntriesTrimmed)) throw error;
  }
  options.onProgress({ step: "download" });
  await loadSnapshot(options.engine, copy);
  return applyRest(copy, options);
}

/** Rejects with `EntriesTrimmed` if a snapshot has to be loaded first. */
async function applyRest(folder: string, options: MoveOutOptions): Promise<Applied> {
  const { engine, clock, onProgress } = options;
  const worker = workerOptions({ directory: folder, engine, clock, node: MIGRATION_NODE }, folder);
  let damage: string | undefined;
  const copy = await Copy.open(worker, clock, {
    moved() {},
    stats() {},
    damaged(what) {
      damage = what;
    },
  });
  try {
    const { first, last } = await engine.log.bounds();
    const { sequence } = copy.applied;
    if (sequence > last)
      throw new MigrationRefused("not_at_the_end", `${lostEntries(sequence, last)}. Remove ${folder}`);
    if (sequence < first - 1) throw new EntriesTrimmed(first);
    await applyUpTo(last, copy, options);
    if (damage !== undefined) throw new Error(`the copy is damaged: ${damage}. Remove ${folder}`);
    onProgress({ step: "read log", done: last, total: last, unit: "entries" });
    return copy.applied;
  } finally {
    await copy.close();
  }
}

async function applyUpTo(
  last: number,
  copy: Copy,
  { engine, onProgress, signal }: MoveOutOptions,
): Promise<void> {
  const begun = copy.applied.sequence;
  if (begun >= last) return;
  const underWay: Promise<unknown>[] = [];
  try {
    for await (const { sequence, data } of engine.log.read(begun, signal)) {
      const applied = copy.apply(sequence, data, false);
      // It is awaited below. Until then its rejection must not count as unhandled.
      applied.catch(() => {});
      underWay.push(applied);
      if (underWay.length >= MOST_UNDER_WAY) await underWay.shift();
      onProgress({ step: "read log", done: sequence - begun, total: last - begun, unit: "entries" });
      if (sequence >= last) break;
    }
  } finally {
    await Promise.allSettled(underWay);
  }
  await Promise.all(underWay);
  signal.throwIfAborted();
}
