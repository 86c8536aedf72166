import { createInterface } from "node:readline";
import { CommandFailure, Finding } from "../failures.js";
import type { Io } from "./io.js";
import { terminalText } from "./terminal-text.js";

/** Asks on the terminal. Only `y` and `yes` mean yes; the end of the input and Ctrl-C mean no. */
export async function confirm(question: string, io: Io): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(`${question} [y/N] `, io));
}

/** Asks on the terminal. The answer is trimmed; it is empty at the end of the input and on Ctrl-C. */
export async function ask(question: string, io: Io): Promise<string> {
  const lines = createInterface({ input: io.stdin, terminal: false });
  const stop = (): void => lines.close();
  io.interrupted.addEventListener("abort", stop);
  try {
    io.err(question);
    for await (const line of lines) return line.trim();
    return "";
  } finally {
    io.interrupted.removeEventListener("abort", stop);
    lines.close();
  }
}

interface Removal {
  /** What the command is about to do: `This deletes the source Shop (src_1)`. */
  readonly consequence: string;
  readonly question: string;
  /** Printed after a no: `Nothing was deleted.` */
  readonly declined: string;
  /** Whether `--yes` was given. */
  readonly isYes: boolean;
}

/** Asks before something is removed. Throws if the answer is no, or if `--yes` is missing and there is no terminal to ask on. */
export async function confirmRemoval(
  { consequence, question, declined, isYes }: Removal,
  io: Io,
): Promise<void> {
  if (isYes) return;
  if (!io.canAsk) throw new CommandFailure("usage", consequence, "Add --yes to confirm");
  if (!(await confirm(terminalText(question), io))) throw new Finding("failed", declined);
}
