import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { CommandFailure } from "../failures/exit-codes.js";

const MOST_BYTES = 65_536;

/**
 * The JSON object that `sluice dev` wrote to a file; empty where there is no such file, or one that is being written.
 * A file that somebody else may have written is a failure: commands send tokens where it says.
 */
export async function readOwnFile(path: string): Promise<{ readonly [field: string]: unknown }> {
  // Without O_NONBLOCK a pipe of this name would hold the command up.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ELOOP") throw distrusted(path, "it is a link");
    return undefined;
  });
  if (file === undefined) return {};
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw distrusted(path, "it is not a regular file");
    const uid = process.getuid?.();
    if (uid !== undefined && stats.uid !== uid) throw distrusted(path, "it belongs to another user");
    if (uid !== undefined && (stats.mode & 0o022) !== 0)
      throw distrusted(path, "other users may write to it");
    if (stats.size > MOST_BYTES) throw distrusted(path, "it is too large");
    return objectIn(await file.readFile("utf8"));
  } finally {
    await file.close();
  }
}

function objectIn(text: string): { readonly [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as { [field: string]: unknown }) : {};
  } catch {
    // Being written.
    return {};
  }
}

function distrusted(path: string, why: string): CommandFailure {
  return new CommandFailure(
    "usage",
    `${path} is not used: ${why}`,
    "Say where the collector is with --url or SLUICE_URL, and give a token with --token or SLUICE_TOKEN",
  );
}
