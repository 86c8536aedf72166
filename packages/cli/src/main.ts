import { EXIT_CODES } from "./failures/exit-codes.js";
import { run } from "./run.js";
import { processIo } from "./terminal/io.js";

/** Called by `bin/sluice.cjs` once the Node.js is known to be new enough. */
export async function main(): Promise<void> {
  // A command that is still waiting when nothing keeps the process alive has not done its work.
  process.exitCode = EXIT_CODES.failed.code;
  process.exitCode = await run(process.argv.slice(2), processIo());
}
