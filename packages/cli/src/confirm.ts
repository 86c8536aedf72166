import { createInterface } from "node:readline";
import type { Io } from "./io.js";

/** Asks on the terminal, and takes only `y` or `yes` for yes. The end of the input and Ctrl-C mean no. */
export async function confirm(question: string, io: Io): Promise<boolean> {
  const lines = createInterface({ input: io.stdin, terminal: false });
  const stop = (): void => lines.close();
  io.interrupted.addEventListener("abort", stop);
  try {
    io.err(`${question} [y/N] `);
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    return false;
  } finally {
    io.interrupted.removeEventListener("abort", stop);
    lines.close();
  }
}
