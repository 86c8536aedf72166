import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DATABASE_FILE } from "../../src/sqlite/database/database-files.js";

/** What a bad block of a disk leaves, in bytes. */
const BLOCK_BYTES = 4096;

/**
 * Zeroes the first block of pages of a table or an index in a folder that nobody has open; returns how many of them. `choose` is given the
 * leaf pages in key order.
 */
export function zeroPages(
  directory: string,
  name: string,
  choose: (leaves: readonly number[]) => readonly number[] = (leaves) => leaves.slice(0, 1),
): number {
  const file = join(directory, DATABASE_FILE);
  const database = new DatabaseSync(file);
  const leaves = database
    .prepare("SELECT pgoffset FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path")
    .all(name)
    .map(({ pgoffset }) => pgoffset as number);
  database.close();
  const chosen = choose(leaves);
  if (chosen.length === 0) throw new Error(`${name} has ${leaves.length} pages`);
  const descriptor = openSync(file, "r+");
  for (const offset of chosen) writeSync(descriptor, new Uint8Array(BLOCK_BYTES), 0, BLOCK_BYTES, offset);
  closeSync(descriptor);
  return chosen.length;
}
