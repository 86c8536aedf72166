import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { syncDirectory } from "../../../file-log/beginning.js";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;

/**
 * Copies the committed pages of a write-ahead log into a database that SQLite cannot open, and deletes the log. `descriptor` is the
 * database's, open for writing. Can be repeated after a crash, because the log is deleted last.
 */
export function bringInLog(database: string, descriptor: number): void {
  const file = `${database}-wal`;
  if (!existsSync(file)) return;
  const log = readFileSync(file);
  const { pageBytes, frames } = committedFrames(log);
  for (const { page, at } of frames) writeSync(descriptor, log, at, pageBytes, (page - 1) * pageBytes);
  fsyncSync(descriptor);
  rmSync(file);
  rmSync(`${database}-shm`, { force: true });
  syncDirectory(dirname(database));
}

interface Frame {
  readonly page: number;
  readonly at: number;
}

/** The frames up to the last commit whose checksums match. See "WAL File Format". */
function committedFrames(log: Buffer): {
  readonly pageBytes: number;
  readonly frames: readonly Frame[];
} {
  const none = { pageBytes: 0, frames: [] };
  if (log.length < HEADER_BYTES || (log.readUInt32BE(0) & ~1) >>> 0 !== MAGIC) return none;
  const isBigEndian = (log.readUInt32BE(0) & 1) === 1;
  const pageBytes = log.readUInt32BE(8);
  if (pageBytes < 512 || (pageBytes & (pageBytes - 1)) !== 0) return none;
  const read = (at: number): number => (isBigEndian ? log.readUInt32BE(at) : log.readUInt32LE(at));
  let [a, b] = [0, 0];
  const add = (from: number, to: number): void => {
    for (let at = from; at < to; at += 8) {
      a = (a + read(at) + b) >>> 0;
      b = (b + read(at + 4) + a) >>> 0;
    }
  };
  const matches = (at: number): boolean => log.readUInt32BE(at) === a && log.readUInt32BE(at + 4) === b;
  add(0, 24);
  if (!matches(24)) return none;
  const frames: Frame[] = [];
  let committed = 0;
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  for (let at = HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    if (log.compare(log, 16, 24, at + 8, at + 16) !== 0) break;
    add(at, at + 8);
    add(at + FRAME_HEADER_BYTES, at + frameBytes);
    if (!matches(at + 16)) break;
    frames.push({ page: log.readUInt32BE(at), at: at + FRAME_HEADER_BYTES });
    if (log.readUInt32BE(at + 4) !== 0) committed = frames.length;
  }
  return { pageBytes, frames: frames.slice(0, committed) };
}

/** Opens a file for reading and writing while `work` runs. */
export function withFile<Result>(file: string, work: (descriptor: number) => Result): Result {
  const descriptor = openSync(file, "r+");
  try {
    return work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
