import type { Command } from "commander";
import { readInteger } from "./numbers.js";

/** Adds the option of commands that list the newest items. */
export function withLimit(command: Command): Command {
  return command.option("-n, --limit <n>", "show at most n", "50");
}

export function readLimit(text: string): number {
  return readInteger("--limit", text, 1, 500);
}
