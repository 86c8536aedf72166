import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PartitionFolders } from "@sluice/collector";
import { shellWord } from "../terminal/shell-word.js";

/** A folder that has a data folder for each partition of a cluster, and what to do about it. */
export interface DividedFolder {
  readonly message: string;
  readonly hint: string;
}

/** Undefined: it is a data folder, or none. `command`: what was to use it. Rejects if its `partitions.json` cannot be read. */
export async function dividedFolder(folder: string, command: string): Promise<DividedFolder | undefined> {
  // The collector is large: it is loaded only if there is something to read.
  if (!existsSync(join(folder, "partitions.json"))) return undefined;
  const { findPartitionFolders } = await import("@sluice/collector");
  const found = await findPartitionFolders(folder);
  return found && describe(folder, found, command);
}

function describe(folder: string, { folders, areWhole }: PartitionFolders, command: string): DividedFolder {
  const [first = folder] = folders;
  const names = folders.length === 1 ? first : `${first} to ${folders.at(-1)}`;
  const message = `${folder} is not a data folder: it has one for each partition of a cluster, ${names}`;
  if (!areWhole)
    return {
      message: `${message}. They are not complete: \`sluice migrate\` did not finish`,
      hint: "Run the same `sluice migrate` again, or remove the folder",
    };
  const each = `${command} --data-dir ${shellWord(first)}`;
  return {
    message,
    hint: `Run \`${each}\`, and the same for each of the others. To move them into a cluster of ${folders.length} partitions, run \`sluice migrate --from ${shellWord(folder)}\``,
  };
}
