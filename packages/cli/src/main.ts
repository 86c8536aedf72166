import { processIo } from "./io.js";
import { run } from "./run.js";

/** Called by `bin/sluice.cjs` once the Node.js is known to be new enough. */
export async function main(): Promise<void> {
  process.exitCode = await run(process.argv.slice(2), processIo());
}
