import { access, chmod, constants, lstat, mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";

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

/** The collector's own files, by the beginning of their names, and its folders: nothing else in the data folder is touched. */
const OWN =
  /^(?:sluice\.db|profiles\.db|secret\.key|dev\.json|admin-token|listening\.json|damaged-rows\.jsonl|exports$|repair\.draft$)/;
/** What others on the machine can do with a file. */
const OTHERS = 0o077;

/**
 * Makes the collector's files in the data folder readable by their owner alone: an older version, a backup that was restored or an open
 * umask may have left them open to others. Resolves with the paths, within the folder, whose mode was changed. The folder
 * itself keeps its mode. Links are left alone, and so is everything on Windows.
 */
export async function makeOwnerOnly(folder: string): Promise<string[]> {
  if (process.platform === "win32") return [];
  const mended: string[] = [];
  const visit = async (directory: string): Promise<void> => {
    for (const name of (await namesIn(directory)).sort()) {
      const path = join(directory, name);
      // Another process may remove a draft meanwhile.
      const found = await lstat(path).catch(() => undefined);
      if (found === undefined || !(found.isFile() || found.isDirectory())) continue;
      if (directory === folder && !OWN.test(name)) continue;
      if ((found.mode & OTHERS) !== 0 && (await closeToOthers(path, found.mode & 0o700)))
        mended.push(relative(folder, path));
      if (found.isDirectory()) await visit(path);
    }
  };
  await visit(folder);
  return mended;
}

/** None where another user keeps the folder to themselves: that one decides who reads it. */
async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another process may remove it meanwhile.
    if (code === "EACCES" || code === "EPERM" || code === "ENOENT") return [];
    throw error;
  }
}

/** False where the file is another user's: that one decides who reads it. */
async function closeToOthers(path: string, mode: number): Promise<boolean> {
  try {
    await chmod(path, mode);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EPERM") return false;
    throw error;
  }
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
