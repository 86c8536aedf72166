import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PARTITIONS_MARK } from "./data-folder.js";
import { writeDurably } from "./write-durably.js";

/** What is known of a folder that has a data folder for each partition of a cluster. */
export interface PartitionsMark {
  readonly partitions: number;
  /** The cluster from which the folders are being moved; absent when all of them are whole. */
  readonly from?: string;
  /** Where the log of each partition ended whose folder is whole, by partition, while others are not. */
  readonly moved?: { readonly [partition: string]: number };
}

/** The data folder of a partition in such a folder. */
export function partitionFolder(partition: number): string {
  return `partition-${partition}`;
}

export async function writePartitionsMark(folder: string, mark: PartitionsMark): Promise<void> {
  await writeDurably(join(folder, PARTITIONS_MARK), `${JSON.stringify(mark, null, 2)}\n`);
}

/** Undefined: the folder is another one. Rejects if the mark cannot be read. */
export async function readPartitionsMark(folder: string): Promise<PartitionsMark | undefined> {
  const file = join(folder, PARTITIONS_MARK);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
  const mark = parsed(text) as Partial<PartitionsMark> | undefined;
  if (Number.isSafeInteger(mark?.partitions)) return mark as PartitionsMark;
  throw new Error(`${file} cannot be read, so it is not known how many partitions there are`);
}

/** The data folders of a cluster's partitions in one folder. */
export interface PartitionFolders {
  /** The paths, by partition. */
  readonly folders: readonly string[];
  /** The command that moves them out of a cluster has ended. */
  readonly areWhole: boolean;
}

/** Undefined: the folder is another one. Rejects if it cannot be read how many there are. */
export async function findPartitionFolders(folder: string): Promise<PartitionFolders | undefined> {
  const mark = await readPartitionsMark(folder);
  if (mark === undefined) return undefined;
  const folders = Array.from({ length: mark.partitions }, (_, partition) =>
    join(folder, partitionFolder(partition)),
  );
  return { folders, areWhole: mark.from === undefined };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
