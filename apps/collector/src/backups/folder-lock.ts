import { join } from "node:path";
import { lockFile, type Unlock } from "@sluice/event-log";
import { UnusableBackup } from "./manifest.js";

/** Stays in the folder. It is empty: the operating system holds the lock. */
const LOCK_FILE = "in-use.lock";

/**
 * Locks a folder for one backup, or returns undefined if another one uses it. The lock ends with its process. Throws
 * `UnusableBackup` if the file system has no locks.
 */
export function lockFolder(folder: string): Unlock | undefined {
  try {
    return lockFile(join(folder, LOCK_FILE));
  } catch (error) {
    throw withoutLocks(folder, error);
  }
}

/** SQLite's errors have a number. Others, such as a folder that is read-only, say enough. */
function withoutLocks(folder: string, error: unknown): unknown {
  if (typeof (error as { errcode?: unknown }).errcode !== "number") return error;
  return new UnusableBackup(
    `the folder ${folder} cannot be locked (${(error as Error).message}): its file system may have no locks. Write an archive with \`sluice backup -\` instead, or use another folder`,
  );
}
