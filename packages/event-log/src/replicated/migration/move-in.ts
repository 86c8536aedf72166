import { createReadStream, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@sluice/resilience";
import { DATABASE_FILE } from "../../sqlite/database/database.js";
import { MetaNumber } from "../../sqlite/database/meta-number.js";
import { TRUSTED_TIME } from "../../sqlite/index/segments.js";
import { PROFILES_FILE } from "../../sqlite/profiles/profiles-file.js";
import { AppliedMark } from "../../sqlite/replica/applied-mark.js";
import type { ReplicationEngine } from "../engine.js";
import { loadSnapshot } from "../snapshots/load-snapshot.js";
import { listSnapshots, metadataOf, nameOfSnapshot } from "../snapshots/snapshot-record.js";
import { type Contents, contentsOf, differences } from "./contents.js";
import {
  MARK_SEQUENCE,
  MIGRATION_NODE,
  makePlain,
  markMoveIn,
  moveInState,
  refusalOf,
} from "./migration-mark.js";
import type { MigrationProgress, MigrationResult } from "./migration-result.js";
import { MigrationDiffers, MigrationRefused } from "./migration-result.js";
import { contentsOfFolder, copyFolder, type LockedFolder, lockFolder, withDatabases } from "./read-folder.js";

/** In the data folder, while it is copied. */
export const UPLOAD_FOLDER = "migration.upload";
const PART_BYTES = 1024 * 1024;

export interface MoveInOptions {
  /** The data folder of a collector that does not run. Its contents are not changed. */
  readonly directory: string;
  readonly engine: ReplicationEngine;
  readonly clock: Clock;
  readonly onProgress: (progress: MigrationProgress) => void;
  readonly signal: AbortSignal;
}

/**
 * Makes the data of a folder the state of a cluster that has none.
 *
 * 1. The first entry of the log says that a migration has begun. No copy applies it, so no process can begin an empty log.
 * 2. The folder's databases are uploaded as the snapshot that contains this entry, and compared with the folder.
 * 3. The entry is removed. Only now a process can begin: the log no longer has its first entry, so it loads the snapshot.
 *
 * When it ends before that, for whatever reason, the same call goes on.
 */
export async function moveIn(options: MoveInOptions): Promise<MigrationResult> {
  const { directory, engine } = options;
  const folder = lockFolder(directory);
  const work = join(directory, UPLOAD_FOLDER);
  try {
    const state = await moveInState(engine);
    if (state.kind === "used" || (state.kind === "begun" && state.seed !== folder.seed))
      throw refusalOf(state, folder.seed);
    makeEmpty(work);
    const source = await countSource(folder, options);
    const isStored = state.kind !== "empty" && (await isInCluster(source, work, options));
    if (state.kind === "whole") {
      if (!isStored) throw refusalOf(state, folder.seed);
      return { kind: "done before", source, result: source };
    }
    if (!isStored) await upload(folder, source, work, options);
    options.signal.throwIfAborted();
    await engine.log.trim(MARK_SEQUENCE);
    return { kind: "done", source, result: source };
  } finally {
    folder.close();
    rmSync(work, { recursive: true, force: true });
  }
}

async function upload(
  folder: LockedFolder,
  source: Contents,
  work: string,
  options: MoveInOptions,
): Promise<void> {
  const { engine, clock, onProgress, signal } = options;
  const copy = copyIn(folder, work, onProgress);
  await asStateOfCluster(copy);
  await markMoveIn(engine, clock, folder.seed, signal);
  await uploadFiles(copy, options);
  rmSync(copy, { recursive: true });
  const result = await storedContents(work, options);
  if (result === undefined) throw new Error("the snapshot that was just uploaded is gone");
  if (differences(source, result).length > 0) {
    await removeSnapshots(engine);
    throw new MigrationDiffers("what arrived in the cluster is not what the folder has", source, result);
  }
}

/** Whether an earlier run has uploaded the same contents. A snapshot that cannot be read counts as none: it is replaced. */
async function isInCluster(source: Contents, work: string, options: MoveInOptions): Promise<boolean> {
  const stored = await storedContents(work, options).catch(() => undefined);
  options.signal.throwIfAborted();
  return stored !== undefined && differences(source, stored).length === 0;
}

async function countSource(
  folder: LockedFolder,
  { onProgress, signal, directory }: MoveInOptions,
): Promise<Contents> {
  onProgress({ step: "count source" });
  try {
    return await contentsOf(folder.databases, signal);
  } catch (error) {
    if (signal.aborted || error instanceof MigrationRefused) throw error;
    throw new MigrationRefused(
      "folder_unusable",
      `${directory} cannot be read: ${(error as Error).message}. Run \`sluice repair --data-dir ${directory}\` first`,
    );
  }
}

function copyIn(folder: LockedFolder, work: string, onProgress: MoveInOptions["onProgress"]): string {
  onProgress({ step: "copy" });
  const copy = join(work, "copy");
  makeEmpty(copy);
  copyFolder(folder, copy);
  return copy;
}

/** Makes a data folder what a copy is after the first entry. */
async function asStateOfCluster(copy: string): Promise<void> {
  await makePlain(copy);
  await withDatabases(copy, ({ store }) => {
    const trustedMs = new MetaNumber(store, TRUSTED_TIME).value ?? 0;
    new AppliedMark(store).set({
      ...{ sequence: MARK_SEQUENCE, session: MIGRATION_NODE, number: 1 },
      ...{ trustedMs, profiles: 0 },
    });
  });
}

async function uploadFiles(
  copy: string,
  { engine, clock, onProgress, signal }: MoveInOptions,
): Promise<void> {
  const files = [DATABASE_FILE, PROFILES_FILE].map((name) => join(copy, name));
  const [storeBytes, profilesBytes] = files.map((file) => statSync(file).size) as [number, number];
  const total = storeBytes + profilesBytes;
  let done = 0;
  const parts = async function* (): AsyncGenerator<Uint8Array> {
    for (const file of files)
      for await (const part of createReadStream(file, { highWaterMark: PART_BYTES })) {
        signal.throwIfAborted();
        yield part as Uint8Array;
        done += (part as Uint8Array).byteLength;
        onProgress({ step: "upload", done, total, unit: "bytes" });
      }
  };
  onProgress({ step: "upload", done, total, unit: "bytes" });
  await removeSnapshots(engine);
  const metadata = metadataOf({
    ...{ sequence: MARK_SEQUENCE, madeAtMs: clock.now() },
    ...{ storeBytes, profilesBytes },
  });
  await engine.snapshots.put(nameOfSnapshot(MARK_SEQUENCE, MIGRATION_NODE), metadata, parts());
}

/** What the snapshot contains that is in the cluster now, if there is one that a copy can begin with. */
async function storedContents(
  work: string,
  { engine, onProgress, signal }: MoveInOptions,
): Promise<Contents | undefined> {
  if ((await listSnapshots(engine.snapshots)).length === 0) return undefined;
  onProgress({ step: "check" });
  const stored = join(work, "stored");
  await loadSnapshot(engine, stored);
  const contents = await contentsOfFolder(stored, signal);
  rmSync(stored, { recursive: true });
  return contents;
}

async function removeSnapshots({ snapshots }: ReplicationEngine): Promise<void> {
  for (const { name } of await listSnapshots(snapshots)) await snapshots.remove(name);
}

function makeEmpty(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}
