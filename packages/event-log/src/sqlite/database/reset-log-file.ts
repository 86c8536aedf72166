import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { syncDirectory } from "../../file-log/beginning.js";
import { DATABASE_FILE } from "./database-name.js";

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
