import type { Io } from "./io.js";
import { terminalJson } from "./terminal-text.js";

/** Prints a result: as JSON where that is asked for, else as `text` makes it for people. */
export async function show(
  io: Io,
  asJson: boolean | undefined,
  value: unknown,
  text: () => string,
): Promise<void> {
  await io.out(asJson ? `${terminalJson(value)}\n` : text());
}
