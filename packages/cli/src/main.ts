import { EXIT_CODES } from "./failures.js";
import { run } from "./run.js";
import { processIo } from "./terminal/io.js";

/** A connection that is being made to an address that nobody answers at would keep the process for minutes. */
const EXIT_GRACE_MS = 1_000;

/** `bin/sluice.cjs` calls it after checking the version of Node.js. */
export async function main(): Promise<void> {
  // This is the exit code if the process ends before the command does, because nothing keeps it alive.
  process.exitCode = EXIT_CODES.failed.code;
  const code = await run(process.argv.slice(2), processIo());
  process.exitCode = code;
  if (code !== EXIT_CODES.ok.code) setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
}
