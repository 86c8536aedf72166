import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";

/** How far an import came: everything up to and with `line` is on the collector's disk or in the reject file. */
export interface Checkpoint {
  readonly line: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: number;
  /** Length of the reject file then: what is beyond it will be found again. */
  readonly rejectBytes: number;
  /** Of the file that was imported: a file that has changed is begun anew. */
  readonly size: number;
  readonly modifiedMs: number;
}

export function checkpointFile(file: string): string {
  return `${file}.sluice-import.json`;
}

/** The checkpoint of an earlier import of this file, if it is still the same file. */
export async function readCheckpoint(file: string): Promise<Checkpoint | undefined> {
  try {
    const checkpoint: Checkpoint = JSON.parse(await readFile(checkpointFile(file), "utf8"));
    const { size, mtimeMs } = await stat(file);
    return checkpoint.size === size && checkpoint.modifiedMs === mtimeMs ? checkpoint : undefined;
  } catch {
    return undefined;
  }
}

/** Whole or not at all. */
export async function writeCheckpoint(file: string, checkpoint: Checkpoint): Promise<void> {
  const draft = `${checkpointFile(file)}.new`;
  await writeFile(draft, `${JSON.stringify(checkpoint)}\n`, { mode: 0o600 });
  await rename(draft, checkpointFile(file));
}

export async function removeCheckpoint(file: string): Promise<void> {
  await rm(checkpointFile(file), { force: true });
}
