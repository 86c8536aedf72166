import { access, constants, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Check } from "./check.js";

const OLDEST_NODE = [22, 13] as const;

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isTooOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
  if (!isTooOld) return { name: "Node.js", result: "ok", message: version };
  return {
    name: "Node.js",
    result: "problem",
    message: `${version} is too old for the collector`,
    hint: `Install Node.js ${OLDEST_NODE.join(".")} or newer`,
  };
}

/** With less space, the event log can fill the disk within minutes. */
const LOW_SPACE_BYTES = 1_073_741_824;
const NO_SPACE_BYTES = 104_857_600;

/** Checks the data folder on this machine, if there is one. */
export async function checkDataFolder(folder: string): Promise<Check> {
  const name = "data folder";
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    if (isMissing(error))
      return { name, result: "skipped", message: `${folder} does not exist on this machine` };
    return {
      name,
      result: "problem",
      message: `${folder} is not writable`,
      hint: "Check its owner and mode",
    };
  }
  const secrets = await checkSecrets(join(folder, "dev.json"));
  return secrets ?? { name, result: "ok", message: `${folder} on this machine is writable` };
}

/** Checks the space for the data folder on this machine. Only the collector knows whether that folder is its own. */
export async function checkLocalDisk(folder: string): Promise<Check> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return checkFreeSpace(bavail * bsize, `at ${folder} on this machine`);
  } catch (error) {
    const message = isMissing(error)
      ? `the collector did not answer, and ${folder} does not exist on this machine`
      : String(error);
    return { name: "disk", result: "skipped", message };
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

/** `where`: "on the collector's disk". `lowBelowBytes`: from where on space is short. */
export function checkFreeSpace(freeBytes: number, where: string, lowBelowBytes = LOW_SPACE_BYTES): Check {
  const message = `${(freeBytes / 1_073_741_824).toFixed(1)} GB free ${where}`;
  if (freeBytes < NO_SPACE_BYTES)
    return {
      name: "disk",
      result: "problem",
      message,
      hint: "Free some space: the collector refuses messages (503) when the disk is full",
    };
  if (freeBytes < lowBelowBytes) return { name: "disk", result: "warning", message };
  return { name: "disk", result: "ok", message };
}

/** Warns if other users can read a file with secrets. */
async function checkSecrets(file: string): Promise<Check | undefined> {
  if (process.platform === "win32") return undefined;
  const modeForOthers = await stat(file).then(
    ({ mode }) => mode & 0o077,
    () => 0,
  );
  if (modeForOthers === 0) return undefined;
  return {
    name: "data folder",
    result: "warning",
    message: "other users can read dev.json",
    hint: `chmod 600 ${file}`,
  };
}
