import type { Command } from "commander";

/** Adds the options for the time when a message was received. */
export function withTimeRange(command: Command): Command {
  return command
    .option("--from <time>", "received at or after this time (ISO 8601)")
    .option("--to <time>", "received before this time (ISO 8601)");
}
