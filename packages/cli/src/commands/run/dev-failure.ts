import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { LISTENING_FILE } from "../../connection/listening-file.js";
import { CommandFailure, isFolderInUse, listenFailure } from "../../failures.js";

interface StartOptions {
  readonly host: string;
  readonly port: number;
  readonly dataDirectory: string;
}

/** Explains why `sluice dev` did not start, and what to do. */
export async function devFailure(
  error: unknown,
  { host, port, dataDirectory }: StartOptions,
): Promise<unknown> {
  if (isFolderInUse(error)) {
    const running = await runningDev(dataDirectory);
    return new CommandFailure(
      "failed",
      running === undefined
        ? `The data folder ${dataDirectory} is in use by another process`
        : `sluice is already running on this data folder, at ${running.url} (process ${running.pid})`,
      "Use that one, or give this one its own folder with --data-dir",
    );
  }
  const failure = listenFailure(error, host, port, "Another sluice dev may be running");
  const code = (failure as NodeJS.ErrnoException | undefined)?.code;
  if (code !== "EACCES" && code !== "EPERM") return failure;
  return new CommandFailure(
    "failed",
    `You are not allowed to use ${dataDirectory}: ${code}`,
    "Check its owner and mode, or choose another folder with --data-dir",
  );
}

/** What the `sluice dev` on this data folder wrote about itself. */
async function runningDev(
  dataDirectory: string,
): Promise<{ readonly url: string; readonly pid: number } | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDirectory, LISTENING_FILE), "utf8"));
  } catch {
    // The file is missing or incomplete.
    return undefined;
  }
}
