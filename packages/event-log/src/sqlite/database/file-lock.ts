import { closeSync, openSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { checkNode } from "./check-node.js";

const SQLITE_BUSY = 5;

/** Releases a lock. The file stays. Keep a reference: a lock without one ends when its memory is collected. May be called more than once. */
export type Unlock = () => void;

/**
 * Locks a file for this process, and creates it if it is missing. Returns undefined if it is locked already. The lock is SQLite's, like that
 * of a data folder: the operating system releases it however the process ends, also in a container, where process ids and host names say
 * nothing about the holder. Nothing is written to the file.
 */
export function lockFile(file: string): Unlock | undefined {
  checkNode();
  for (;;) {
    const before = makeFile(file);
    const lock = takeLock(file);
    if (lock === undefined) return undefined;
    // Its holder may have removed the file after it was opened here. Then somebody else can lock a new one.
    if (statSync(file, { throwIfNoEntry: false })?.ino === before) return onceOnly(lock);
    lock.close();
  }
}

/** Creates the file if it is missing. It does not open an existing one: closing it would release a lock of this process. */
function makeFile(file: string): number | undefined {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

function takeLock(file: string): DatabaseSync | undefined {
  const lock = new DatabaseSync(file);
  try {
    // Without this, SQLite would create a journal next to the file.
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
}

function onceOnly(lock: DatabaseSync): Unlock {
  let held: DatabaseSync | undefined = lock;
  return () => {
    held?.close();
    held = undefined;
  };
}
