import type { ReadBackup } from "@sluice/collector";
import { CommandFailure } from "../../failures.js";
import { plural } from "../../terminal/plural.js";
import { terminalText } from "../../terminal/terminal-text.js";

const UNITS = ["bytes", "KB", "MB", "GB", "TB"] as const;

/** `512 bytes`, `3.4 MB`. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1_024 && unit < UNITS.length - 1; unit++) value /= 1_024;
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

/** A backup in one line, without its end. */
export function backupLine({ info: { createdAt, counts }, bytes }: ReadBackup): string {
  return `backup of ${terminalText(createdAt)}: ${plural(counts.messages, "message", "messages")}, ${bytesText(bytes)}`;
}

/** A backup for `--json`. */
export function summary({ info: { createdAt, version, counts }, bytes }: ReadBackup): object {
  return { createdAt, version, counts, bytes };
}

/** Throws a failure with the reason why a backup cannot be made, read or restored. */
export function unusable(error: unknown): never {
  const { name, message, code } = error as { name?: string; message: string; code?: string };
  if (name === "UnusableBackup") throw new CommandFailure("failed", capital(message));
  if (code === "ENOENT") throw new CommandFailure("notFound", `There is no such file: ${message}`);
  if (code === "ENOSPC")
    throw new CommandFailure("failed", "The disk is full", "Nothing was kept. Free some space and try again");
  if (error instanceof TypeError && message === "terminated")
    throw new CommandFailure(
      "failed",
      "The connection ended before the backup was complete",
      "Nothing of this backup was kept. See the collector's log, and try again",
    );
  throw error;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
