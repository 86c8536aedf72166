import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface FolderLock {
  /** Notes the processes that use the folder besides this one. */
  note(pids: readonly (number | undefined)[]): void;
  release(): void;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Whether it is a NATS server of this folder, and not another process that has the number now. */
function isServerOf(directory: string, pid: number): boolean {
  const commandLine = `/proc/${pid}/cmdline`;
  if (!isRunning(pid)) return false;
  return !existsSync(commandLine) || readFileSync(commandLine, "utf8").includes(directory);
}

const fileIn = (directory: string): string => join(directory, "pids.json");

/** Throws if a cluster runs on this folder. Writes nothing. */
export function assertUnused(directory: string): void {
  const file = fileIn(directory);
  const [main, ...servers]: number[] = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
  const left = servers.filter((pid) => isServerOf(directory, pid));
  if (main !== undefined && isRunning(main) && left.length > 0)
    throw new Error(
      `A cluster is already running on ${directory} (process ${main}). Stop it, or choose another folder with --data-dir`,
    );
  if (left.length > 0)
    throw new Error(
      `NATS servers of an earlier start still use ${directory}. Stop them first: kill ${left.join(" ")}`,
    );
}

/** Keeps a second cluster off this folder: NATS servers do not lock theirs. */
export function lockFolder(directory: string): FolderLock {
  const file = fileIn(directory);
  assertUnused(directory);
  const note = (pids: readonly (number | undefined)[]): void =>
    writeFileSync(file, `${JSON.stringify([process.pid, ...pids.filter((pid) => pid !== undefined)])}\n`);
  note([]);
  return { note, release: () => rmSync(file, { force: true }) };
}
