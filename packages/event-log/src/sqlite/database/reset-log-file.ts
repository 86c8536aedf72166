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
import { syncDirectory } from "./database.js";
import { DATABASE_FILE } from "./database-name.js";

const PIECE_BYTES = 1024 * 1024;

/**
 * Writes the write-ahead log anew, after a failed sync and before the database is opened again. A kernel that could not
 * write a page back may call it clean and go on showing it: reading it back and syncing once more would say "synced" of what is
 * not on disk. What is written to a new file and synced is. Only the first `validBytes` are taken over: what stands after them was refused.
 * Where closing the database has brought the log in, there is none, and nothing
 * to do.
 */
export function resetLogFile(directory: string, validBytes = Number.POSITIVE_INFINITY): void {
  const file = join(directory, `${DATABASE_FILE}-wal`);
  if (!existsSync(file)) return;
  const copy = `${file}.new`;
  const from = openSync(file, "r");
  try {
    const to = openSync(copy, "w", 0o600);
    try {
      const piece = new Uint8Array(PIECE_BYTES);
      for (let left = Math.min(statSync(file).size, validBytes); left > 0; ) {
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
