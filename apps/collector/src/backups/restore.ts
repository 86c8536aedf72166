import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { syncDirectory } from "@sluice/event-log";
import { type ReadBackup, readArchive, UnusableBackup } from "./read-archive.js";

export interface RestoreOptions {
  /** The file of an archive, or its bytes. */
  readonly from: string | AsyncIterable<Uint8Array>;
  /** The data folder to create. It must not exist, or be empty. */
  readonly directory: string;
}

/**
 * Makes a data folder from a backup. Builds it under another name, and renames it when all checksums are right: there is either the whole
 * folder or none. A restore that is killed leaves a folder with `.restoring-` in its name. Throws `UnusableBackup` with a reason for the
 * person who restores.
 */
export async function restoreBackup({ from, directory }: RestoreOptions): Promise<ReadBackup> {
  const target = resolve(directory);
  await checkTarget(target);
  await mkdir(dirname(target), { recursive: true });
  // A new folder with a name of its own: whatever else is beside the target belongs to somebody.
  const draft = await mkdtemp(`${target}.restoring-`);
  try {
    const data = join(draft, "data");
    await mkdir(data, { mode: 0o700 });
    const read = await readArchive(typeof from === "string" ? createReadStream(from) : from, data);
    syncDirectory(data);
    // Another restore may have been faster.
    await checkTarget(target);
    await rmdir(target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    await rename(data, target);
    syncDirectory(dirname(target));
    return read;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
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
