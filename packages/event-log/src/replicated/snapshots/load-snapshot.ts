import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncDirectory } from "../../file-log/beginning.js";
import { DATABASE_FILE } from "../../sqlite/database/database.js";
import { PROFILES_FILE } from "../../sqlite/profiles/profiles-file.js";
import { type ReplicationEngine, SnapshotDamaged } from "../engine.js";
import { type CopySnapshot, listSnapshots } from "./snapshot-record.js";
import { untilAborted } from "./until-aborted.js";

/** There is no snapshot that continues with what the log still has. */
export class NoSnapshot extends Error {
  override readonly name = "NoSnapshot";
}

/**
 * Replaces the copy's folder by the newest snapshot, or by an older one that the log continues if that is damaged. The folder must not be
 * in use. It is replaced as a whole, when the snapshot is complete on disk, so a crash leaves either the old copy or the new one. `signal`
 * ends the download.
 */
export async function loadSnapshot(
  engine: ReplicationEngine,
  folder: string,
  signal?: AbortSignal,
): Promise<CopySnapshot> {
  const { first } = await engine.log.bounds();
  const snapshots = await listSnapshots(engine.snapshots);
  const [newest] = snapshots;
  if (newest === undefined)
    throw new NoSnapshot(`the log begins at entry ${first}, and there is no snapshot`);
  if (newest.sequence < first - 1)
    throw new NoSnapshot(
      `the log begins at entry ${first}, and the newest snapshot ends at ${newest.sequence}: entries are missing`,
    );
  let damage: SnapshotDamaged | undefined;
  for (const snapshot of snapshots.filter(({ sequence }) => sequence >= first - 1)) {
    try {
      await loadOne(engine, folder, snapshot, signal);
      return snapshot;
    } catch (error) {
      if (!(error instanceof SnapshotDamaged)) throw error;
      damage ??= error;
    }
  }
  throw damage;
}

async function loadOne(
  engine: ReplicationEngine,
  folder: string,
  snapshot: CopySnapshot,
  signal: AbortSignal | undefined,
): Promise<void> {
  const parts = await engine.snapshots.get(snapshot.name);
  if (parts === undefined) throw new NoSnapshot(`the snapshot ${snapshot.name} was just removed`);
  const loading = `${folder}.loading`;
  rmSync(loading, { recursive: true, force: true });
  mkdirSync(loading, { recursive: true, mode: 0o700 });
  try {
    await writeFiles(loading, snapshot, untilAborted(parts, signal));
  } catch (error) {
    rmSync(loading, { recursive: true, force: true });
    throw error;
  }
  syncDirectory(loading);
  rmSync(folder, { recursive: true, force: true });
  renameSync(loading, folder);
  syncDirectory(dirname(folder));
}

async function writeFiles(
  folder: string,
  { storeBytes, profilesBytes }: CopySnapshot,
  parts: AsyncIterable<Uint8Array>,
): Promise<void> {
  const store = await open(join(folder, DATABASE_FILE), "wx", 0o600);
  const profiles = await open(join(folder, PROFILES_FILE), "wx", 0o600);
  try {
    let at = 0;
    for await (const part of parts) {
      const ofStore = Math.min(part.byteLength, Math.max(0, storeBytes - at));
      await store.appendFile(part.subarray(0, ofStore));
      await profiles.appendFile(part.subarray(ofStore));
      at += part.byteLength;
    }
    if (at !== storeBytes + profilesBytes)
      throw new SnapshotDamaged(`the snapshot has ${at} bytes instead of ${storeBytes + profilesBytes}`);
    for (const file of [store, profiles]) await file.sync();
  } finally {
    await Promise.all([store, profiles].map((file: FileHandle) => file.close()));
  }
}

/** Renames a damaged copy, which replaces an earlier one. Returns its new name, or undefined if there was none. */
export function setCopyAside(folder: string): string | undefined {
  if (!existsSync(folder)) return undefined;
  const kept = `${folder}.damaged`;
  rmSync(kept, { recursive: true, force: true });
  renameSync(folder, kept);
  return kept;
}
