import { existsSync } from "node:fs";
import { access, chmod, constants, lstat, mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";

/**
 * Creates the data folder and its parents if they are missing, readable by their owner only. Rejects with a readable reason if the
 * folder cannot be used. It does not use `mkdir` with `recursive`, which never returns below `/proc` (seen with Node 24).
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

/** In the data folder of a collector of a cluster: to which cluster it belongs. */
export const CLUSTER_MARK = "cluster.json";
/** The database of a collector that runs on its own. */
export const OWN_DATABASE = "sluice.db";

/** In a data folder that `sluice migrate` makes, until it is whole. */
const DOWNLOAD = "migration.download";

/** Throws if the folder is not whole yet: a collector would begin with nothing. */
export function refuseHalfMoved(folder: string): void {
  if (!existsSync(join(folder, DOWNLOAD)) || existsSync(join(folder, OWN_DATABASE))) return;
  throw new Error(
    `The data folder ${folder} is not complete: \`sluice migrate\` did not finish. Run the same command again, or remove the folder`,
  );
}

/** Throws if the folder belongs to a cluster: a collector that runs on its own would begin with nothing. */
export function refuseClusterFolder(folder: string): void {
  refuseHalfMoved(folder);
  if (!existsSync(join(folder, CLUSTER_MARK))) return;
  throw new Error(
    `The data folder ${folder} belongs to a collector of a cluster. Set clusterServers (SLUICE_CLUSTER_SERVERS), or use another folder`,
  );
}

/** The names of the collector's own files and folders. It does not touch anything else in the data folder. */
const OWN =
  /^(?:sluice\.db|profiles\.db|cluster\.json|copy$|secret\.key|dev\.json|admin-token|listening\.json|damaged-rows\.jsonl|exports$|repair\.draft$|migration\.(?:upload|download)$)/;
/** The permissions of group and others. */
const OTHERS = 0o077;

/**
 * Removes other users' access to the collector's files in the data folder. A restored backup or an open umask may have
 * granted it. Resolves with the changed paths, relative to the folder. It leaves the folder's own mode and links alone, and does
 * nothing on Windows.
 */
export async function makeOwnerOnly(folder: string): Promise<string[]> {
  if (process.platform === "win32") return [];
  const own = (await namesIn(folder)).filter((name) => OWN.test(name));
  const changed = (await Promise.all(own.map((name) => closeTree(join(folder, name))))).flat();
  return changed.map((path) => relative(folder, path)).sort();
}

/** Removes other users' access to a file, or to a folder and everything in it. */
async function closeTree(path: string): Promise<string[]> {
  // Another process may remove a draft meanwhile.
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || !(found.isFile() || found.isDirectory())) return [];
  const isChanged = (found.mode & OTHERS) !== 0 && (await closeToOthers(path, found.mode & 0o700));
  const changed = isChanged ? [path] : [];
  if (!found.isDirectory()) return changed;
  for (const name of await namesIn(path)) changed.push(...(await closeTree(join(path, name))));
  return changed;
}

/** Empty for a folder that belongs to another user, who decides about its permissions. */
async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ENOENT: another process may remove the folder meanwhile.
    if (code === "EACCES" || code === "EPERM" || code === "ENOENT") return [];
    throw error;
  }
}

/** Returns false if the file belongs to another user. */
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
      return `this user may not write to it (${code})`;
    case "ENOTDIR":
      return "part of its path is a file";
    case "ENOENT":
      return "its parent folder does not allow new entries";
    default:
      return message;
  }
}
