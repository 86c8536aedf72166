import { fsyncSync, writeSync } from "node:fs";
import { SALT_BYTES } from "./frame.js";
import { readAt } from "./read-frames.js";

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
