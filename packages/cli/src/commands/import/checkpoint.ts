import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";

/** The progress of an import. Everything up to and including `line` is stored by the collector or in the reject file. */
export interface Checkpoint {
  readonly line: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: number;
  /** The length of the reject file at that line. A later import writes the rest again. */
  readonly rejectBytes: number;
  /** Size of the imported file, in bytes. If the file has changed, the import starts from the beginning. */
  readonly size: number;
  readonly modifiedMs: number;
  /** What was chosen: whether the messages are delivered. */
  readonly deliver: boolean;
  /** Notes on accepted messages, by code. Absent: none. */
  readonly notes?: { readonly [code: string]: number };
}

export function checkpointFile(file: string): string {
  return `${file}.sluice-import.json`;
}

/** The checkpoint of an earlier import of this file. Undefined if there is none, or if the file has changed. */
export async function readCheckpoint(file: string): Promise<Checkpoint | undefined> {
  try {
    const checkpoint: Checkpoint = JSON.parse(await readFile(checkpointFile(file), "utf8"));
    const { size, mtimeMs } = await stat(file);
    return checkpoint.size === size && checkpoint.modifiedMs === mtimeMs ? checkpoint : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces the checkpoint atomically. */
export async function writeCheckpoint(file: string, checkpoint: Checkpoint): Promise<void> {
  const temporary = `${checkpointFile(file)}.new`;
  await writeFile(temporary, `${JSON.stringify(checkpoint)}\n`, { mode: 0o600 });
  await rename(temporary, checkpointFile(file));
}

export async function removeCheckpoint(file: string): Promise<void> {
  await rm(checkpointFile(file), { force: true });
}
