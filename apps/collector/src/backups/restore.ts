import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, open, readdir, rename, rm, rmdir, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { syncDirectory } from "@sluice/event-log";
import { hashesOf } from "./backup-folder.js";
import { type BackupSource, openBackupSource } from "./backup-source.js";
import {
  type BackupList,
  type BackupManifest,
  checkUsable,
  type DamagedManifest,
  damageText,
  sha256,
  UnusableBackup,
} from "./manifest.js";
import { type RepeatedDeletions, repeatDeletions } from "./repeat-deletions.js";

export interface RestoreOptions {
  /** A backup folder, an archive, or the bytes of an archive. */
  readonly from: string | AsyncIterable<Uint8Array>;
  /** The data folder to create. It must not exist, or be empty. */
  readonly directory: string;
  /** The id of the backup. Default: the newest. */
  readonly backupId?: string;
  /** `SLUICE_SECRET_KEY`, if the backup was made with it. */
  readonly secretKey?: string;
}

export interface RestoreReport {
  readonly directory: string;
  readonly manifest: BackupManifest;
  readonly bytes: number;
  readonly deletions: RepeatedDeletions;
  /** Whether later backups were there to tell which users were deleted since. */
  readonly isNewest: boolean;
  /** Backups of the same place that cannot be used. Deletions that only they record are not repeated. */
  readonly damaged: readonly DamagedManifest[];
}

/**
 * Makes a data folder from a backup. Checks everything first, then builds the folder under another name and renames it: there is either
 * the whole folder or none. A restore that is killed leaves a folder with `.restoring-` in its name. Throws `UnusableBackup` with a reason for the person who restores.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreReport> {
  const directory = resolve(options.directory);
  await checkTarget(directory);
  await mkdir(dirname(directory), { recursive: true });
  // A new folder with a name of its own: whatever else is beside the target belongs to somebody.
  const draft = await mkdtemp(`${directory}.restoring-`);
  try {
    const path = typeof options.from === "string" ? resolve(options.from) : await spool(options.from, draft);
    const source = await openBackupSource(path);
    try {
      return await restoreFrom(source, { ...options, directory }, join(draft, "data"));
    } finally {
      await source.close();
    }
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function restoreFrom(
  source: BackupSource,
  { directory, backupId, secretKey }: RestoreOptions,
  draft: string,
): Promise<RestoreReport> {
  const { manifests, damaged } = source.list;
  const manifest = choose(source.list, backupId);
  checkUsable(manifest);
  for (const hash of hashesOf([manifest])) await readChecked(source, hash, manifest);
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  await mkdir(draft, { recursive: true, mode: 0o700 });
  await checkSpace(draft, bytes);
  for (const file of manifest.files) await writeFile(source, file, manifest, draft);
  const later = manifests.flatMap((one) => one.deletions);
  const deletions = await repeatDeletions({ directory: draft, deletions: later }, secretKey);
  syncDirectory(draft);
  // Another restore may have been faster.
  await checkTarget(directory);
  await rmdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  await rename(draft, directory);
  syncDirectory(dirname(directory));
  return { directory, manifest, bytes, deletions, isNewest: manifest === manifests.at(-1), damaged };
}

async function checkTarget(directory: string): Promise<void> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    if (error.code === "ENOTDIR") throw new UnusableBackup(`${directory} is a file`);
    throw error;
  });
  if (names.length > 0)
    throw new UnusableBackup(
      `the folder ${directory} is not empty: choose another one, or move it away. Nothing was changed`,
    );
}

/** Stores an archive, whose manifest comes last, so that it can be checked before it is used. */
async function spool(archive: AsyncIterable<Uint8Array>, draft: string): Promise<string> {
  const path = join(draft, "archive.tar");
  await pipeline(archive, createWriteStream(path, { mode: 0o600 }));
  return path;
}

function choose({ manifests, damaged }: BackupList, id: string | undefined): BackupManifest {
  const chosen = id === undefined ? manifests.at(-1) : manifests.find((one) => one.id === id);
  if (chosen !== undefined) return chosen;
  const broken = damaged.find((one) => one.id === id);
  throw new UnusableBackup(
    `${broken === undefined ? `there is no backup ${id}` : damageText(broken)}. There are: ${manifests.map((one) => one.id).join(", ")}`,
  );
}

async function readChecked(source: BackupSource, hash: string, { id }: BackupManifest): Promise<Uint8Array> {
  const piece = await source.readPiece(hash);
  if (piece !== undefined && sha256(piece) === hash) return piece;
  throw new UnusableBackup(
    `the backup ${id} is ${piece === undefined ? "incomplete: a piece is missing" : "damaged: a checksum is wrong"} (${hash.slice(0, 16)}…). Nothing was restored. Use another backup`,
  );
}

async function writeFile(
  source: BackupSource,
  { name, bytes, pieces }: BackupManifest["files"][number],
  manifest: BackupManifest,
  draft: string,
): Promise<void> {
  const handle = await open(join(draft, name), "wx", 0o600);
  try {
    let written = 0;
    for (const hash of pieces) {
      const piece = await readChecked(source, hash, manifest);
      written += piece.byteLength;
      // There is space for as much as the manifest says.
      if (written > bytes) break;
      await handle.writeFile(piece);
    }
    if (written !== bytes)
      throw new UnusableBackup(`the backup ${manifest.id} is damaged: ${name} has a wrong length`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function checkSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < bytes)
    throw new UnusableBackup(
      `there is not enough space for the data: it needs ${bytes} bytes, and ${bavail * bsize} are free`,
    );
}
