import { CommanderError } from "commander";
import { EXIT_CODES } from "./failures.js";
import { program } from "./program.js";
import { reportFailure } from "./report-failure.js";
import type { Io } from "./terminal/io.js";

/** Runs a command line (without node and script) and returns its exit code. Never rejects. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  try {
    await program(io).parseAsync([...args], { from: "user" });
    return EXIT_CODES.ok.code;
  } catch (error) {
    // Commander has already printed the error or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_CODES.usage.code;
    return reportFailure(error, io, args.includes("--json"));
  }
}
