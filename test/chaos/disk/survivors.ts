import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../seeded-random.ts";

/** What a disk writes at once. */
const SECTOR_BYTES = 512;

/**
 * A disk may have written some of what was not synced, in any order, when the power fails. Copies a random part of the sectors in which
 * the files of `unsynced` differ from those of `synced`, up to the size of the synced file: a file's size changes with a sync only.
 * Returns how many sectors differed, and how many were copied.
 */
export function letSomeSurvive(
  synced: string,
  unsynced: string,
  share: number,
  random: Random,
): { differing: number; survived: number } {
  const total = { differing: 0, survived: 0 };
  for (const name of readdirSync(synced)) {
    if (!statSync(join(synced, name)).isFile() || !hasFile(unsynced, name)) continue;
    const [from, to] = [openSync(join(unsynced, name), "r"), openSync(join(synced, name), "r+")];
    const bytes = Math.min(fstatSync(from).size, fstatSync(to).size);
    const [newer, older] = [Buffer.alloc(SECTOR_BYTES), Buffer.alloc(SECTOR_BYTES)];
    for (let at = 0; at < bytes; at += SECTOR_BYTES) {
      const length = Math.min(SECTOR_BYTES, bytes - at);
      readSync(from, newer, 0, length, at);
      readSync(to, older, 0, length, at);
      if (newer.equals(older)) continue;
      total.differing += 1;
      if (random.next() >= share) continue;
      writeSync(to, newer, 0, length, at);
      total.survived += 1;
    }
    closeSync(from);
    closeSync(to);
  }
  return total;
}

function hasFile(folder: string, name: string): boolean {
  return statSync(join(folder, name), { throwIfNoEntry: false })?.isFile() === true;
}
