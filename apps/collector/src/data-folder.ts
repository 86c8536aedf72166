import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Makes the data folder where there is none, with those above it: its owner's alone, for messages are nobody else's to
 * read. Rejects, in words, when it cannot be used. One step at a time: `mkdir` with `recursive` never ends below
 * `/proc`, where a folder exists and nothing can be made in it (seen with Node 24).
 */
export async function makeDataFolder(folder: string): Promise<void> {
  const path = resolve(folder);
  try {
    await make(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(`The data folder ${path} cannot be used: ${reasonOf(error)}`, { cause: error });
  }
  if (!(await stat(path)).isDirectory())
    throw new Error(`The data folder ${path} cannot be used: it is a file`);
}

async function make(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    const parent = dirname(path);
    if (code !== "ENOENT" || parent === path || (await exists(parent))) throw error;
    await make(parent);
    await mkdir(path, { mode: 0o700 });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `this user may not write there (${code})`;
    case "ENOTDIR":
      return "a part of its path is a file";
    case "ENOENT":
      return "nothing can be made in the folder above it";
    default:
      return message;
  }
}
