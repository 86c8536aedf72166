import type { Io } from "../../terminal/io.js";
import { asStarted } from "../../terminal/io.js";
import { terminalText } from "../../terminal/terminal-text.js";

/** The result of one check. */
export interface Check {
  readonly name: string;
  readonly result: "ok" | "warning" | "problem" | "skipped";
  readonly message: string;
  /** What you can do about it. */
  readonly hint?: string;
}

const MARKS = { ok: "✓", warning: "!", problem: "✗", skipped: "–" } as const;

/** A check as text: one line, and one for the hint. */
export function checkLine({ name, result, message, hint }: Check, io: Io): string {
  const { style } = io;
  const paint = { ok: style.green, warning: style.yellow, problem: style.red, skipped: style.dim }[result];
  const advice = hint === undefined ? "" : `    ${style.dim(terminalText(asStarted(hint, io)))}\n`;
  return `${paint(MARKS[result])} ${name.padEnd(12)} ${terminalText(message)}\n${advice}`;
}
