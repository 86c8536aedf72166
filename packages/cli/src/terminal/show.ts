import type { Io } from "./io.js";
import { terminalJson } from "./terminal-text.js";

/** Prints a result: as JSON if `--json` was given, otherwise as `text` formats it. */
export async function show(
  io: Io,
  asJson: boolean | undefined,
  value: unknown,
  text: () => string,
): Promise<void> {
  await io.out(asJson ? `${terminalJson(value)}\n` : text());
}
