import { createInterface } from "node:readline";
import { CommandFailure, Finding } from "../failures/exit-codes.js";
import type { Io } from "./io.js";
import { terminalText } from "./terminal-text.js";

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

interface Removal {
  /** What the command is about to do: `This deletes the source Shop (src_1)`. */
  readonly what: string;
  readonly question: string;
  /** What is printed after a no: `Nothing was deleted.` */
  readonly declined: string;
  /** Whether `--yes` was given. */
  readonly isYes: boolean;
}

/** Asks on the terminal. Throws where the answer is no, and where nobody can be asked and `--yes` is missing. */
export async function confirmRemoval({ what, question, declined, isYes }: Removal, io: Io): Promise<void> {
  if (isYes) return;
  if (!io.canAsk) throw new CommandFailure("usage", what, "Say --yes to do it");
  if (!(await confirm(terminalText(question), io))) throw new Finding("failed", declined);
}
