import { EXIT_CODES } from "./failures/exit-codes.js";
import { run } from "./run.js";
import { processIo } from "./terminal/io.js";

/** `bin/sluice.cjs` calls it after checking the version of Node.js. */
export async function main(): Promise<void> {
  // This is the exit code if the process ends before the command does, because nothing keeps it alive.
  process.exitCode = EXIT_CODES.failed.code;
  process.exitCode = await run(process.argv.slice(2), processIo());
}
