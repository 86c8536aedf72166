import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { CommandFailure } from "../failures/exit-codes.js";

const MAX_BYTES = 65_536;

/**
 * Reads a JSON object that a collector wrote. Returns an empty object if the file does not exist or is incomplete.
 * Throws if another user could have written it: commands send tokens to the address in it.
 */
export async function readOwnFile(path: string): Promise<{ readonly [field: string]: unknown }> {
  const text = await readOwnText(path);
  return text === undefined ? {} : objectIn(text);
}

/** Reads a file that a collector wrote. Undefined if it does not exist. Throws as `readOwnFile`. */
export async function readOwnText(path: string): Promise<string | undefined> {
  // Without O_NONBLOCK, opening a named pipe would block.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ELOOP") throw distrusted(path, "it is a symbolic link");
    return undefined;
  });
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw distrusted(path, "it is not a regular file");
    const uid = process.getuid?.();
    if (uid !== undefined && stats.uid !== uid) throw distrusted(path, "it belongs to another user");
    if (uid !== undefined && (stats.mode & 0o022) !== 0)
      throw distrusted(path, "other users can write to it");
    if (stats.size > MAX_BYTES) throw distrusted(path, "it is too large");
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function objectIn(text: string): { readonly [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as { [field: string]: unknown }) : {};
  } catch {
    // It is being written.
    return {};
  }
}

function distrusted(path: string, why: string): CommandFailure {
  return new CommandFailure(
    "usage",
    `${path} is not used: ${why}`,
    "Give the collector's address with --url or SLUICE_URL, and a token with --token or SLUICE_TOKEN",
  );
}
