import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { syncDirectory } from "../../file-log/beginning.js";

export const DATABASE_FILE = "sluice.db";

/** `file-1`, or the name with the next free number. */
export function nextFreeName(file: string): string {
  for (let no = 1; ; no++) {
    const name = `${file}-${no}`;
    if (!existsSync(name)) return name;
  }
}

/** An operator may put it into a new folder, so alone it is a sign only if the database exists and is empty. */
const SECRET_KEY = "secret.key";
/** Files that exist only after a collector has created its database. */
const SIGNS = [
  "profiles.db",
  "dev.json",
  "admin-token",
  "listening.json",
  "damaged-rows.jsonl",
  "entries.log",
];

/**
 * The names of files that show that a folder had a database, if the database is now missing or empty. Empty for a sound or a new folder.
 */
export function signsOfEmptiedStore(directory: string): string[] {
  const file = join(directory, DATABASE_FILE);
  if (sizeOf(file) > 0) return [];
  const others = existsSync(directory) ? readdirSync(directory) : [];
  const signs = others.filter((name) => SIGNS.includes(name) || name.startsWith(`${DATABASE_FILE}.damaged`));
  if (sizeOf(`${file}-wal`) > 0) signs.push(`${DATABASE_FILE}-wal`);
  if (others.includes("exports") && hasFiles(join(directory, "exports"))) signs.push("exports");
  if (others.includes(SECRET_KEY) && (signs.length > 0 || others.includes(DATABASE_FILE)))
    signs.push(SECRET_KEY);
  return signs.sort();
}

/** False if the folder cannot be read because it belongs to another user. */
function hasFiles(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch {
    return false;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

const PIECE_BYTES = 1024 * 1024;

/**
 * Rewrites the write-ahead log after a failed sync, before the database is reopened. A kernel that could not write a page back may mark it
 * clean and keep showing it, so reading it back and syncing again would report success for data that is not on disk. A new, synced file has
 * no such pages. Does nothing if there is no log, because closing the database has already moved it into the database.
 */
export function resetLogFile(directory: string): void {
  const file = join(directory, `${DATABASE_FILE}-wal`);
  if (!existsSync(file)) return;
  const copy = `${file}.new`;
  const from = openSync(file, "r");
  try {
    const to = openSync(copy, "w", 0o600);
    try {
      const piece = new Uint8Array(PIECE_BYTES);
      for (let left = statSync(file).size; left > 0; ) {
        const read = readSync(from, piece, 0, Math.min(left, PIECE_BYTES), null);
        if (read === 0) break;
        for (let written = 0; written < read; ) written += writeSync(to, piece, written, read - written);
        left -= read;
      }
      fsyncSync(to);
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
  renameSync(copy, file);
  syncDirectory(directory);
}
