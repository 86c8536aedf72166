import { closeSync, fstatSync, fsyncSync, openSync, writeSync } from "node:fs";
import { SALT_BYTES } from "./frame.js";
import { frameAt, readAt } from "./read-frames.js";

/** Begins the file: "SLCLOG" and the version of this format. */
const MAGIC = Buffer.from("SLCLOG\0\x01");
/** Where the first entry is: at a block of the disk. Before it stand the magic and the salt. */
export const BEGIN = 4_096;

/** Undefined if the file does not begin as a log of this version does. */
export function saltAtBeginning(file: number): Uint8Array | undefined {
  const begin = readAt(file, 0, MAGIC.byteLength + SALT_BYTES);
  const isLog = begin.subarray(0, MAGIC.byteLength).equals(MAGIC);
  const salt = begin.subarray(MAGIC.byteLength);
  return isLog && salt.byteLength === SALT_BYTES ? salt : undefined;
}

/** Writes and syncs it. */
export function writeBeginning(file: number, salt: Uint8Array): void {
  const begin = Buffer.alloc(BEGIN);
  begin.set(MAGIC);
  begin.set(salt, MAGIC.byteLength);
  writeSync(file, begin, 0, BEGIN, 0);
  fsyncSync(file);
}

/**
 * For a repair: writes the beginning of a log again if it is damaged. Each entry begins with the same salt, so the first one has it.
 * `unreadable`: no entry can be found without the salt, or the file is something else. It is left as it is.
 */
export function mendBeginning(path: string): "intact" | "mended" | "unreadable" {
  const file = openSync(path, "r+");
  try {
    if (saltAtBeginning(file) !== undefined) return "intact";
    const salt = readAt(file, BEGIN, SALT_BYTES);
    if (frameAt(file, salt, BEGIN, fstatSync(file).size) === undefined) return "unreadable";
    writeBeginning(file, salt);
    return "mended";
  } finally {
    closeSync(file);
  }
}

/** Syncs the entries of a folder: the names of the files in it. */
export function syncDirectory(path: string): void {
  // Windows cannot open a folder for syncing, and does not need it.
  if (process.platform === "win32") return;
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
