import type { TransformationResult } from "@sluice/control-api";
import type { Io } from "../../terminal/io.js";
import {
  clip,
  type Difference,
  jsonDiff,
  terminalJson,
  terminalLines,
  terminalText,
} from "../../terminal/terminal-text.js";

/** The code that was tried, and what to call it in messages: the name of its file. */
export interface TriedCode {
  readonly file: string;
  readonly code: string;
}

interface CodeError {
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/** Characters of a value that a line shows. */
const VALUE_WIDTH = 200;
const LINE_WIDTH = 160;

/** What a function did with a message: the differences, what it logged, and where it failed. */
export function resultText(result: TransformationResult, tried: TriedCode, { style }: Io): string {
  const { messageId, before, after = [], error, logs } = result;
  const colour = { same: style.dim, changed: style.yellow, dropped: style.yellow, failed: style.red };
  const count = after.length > 1 ? ` into ${after.length} messages` : "";
  const head = `${terminalText(messageId)}  ${colour[result.result](`${result.result}${count}`)}\n`;
  const differences = after.map((one) => {
    const lines = jsonDiff(before, one).map((difference) => `  ${differenceText(difference, style)}\n`);
    if (after.length === 1) return lines.join("");
    return `  ${style.bold(terminalText(String(one.messageId)))}\n${lines.map((line) => `  ${line}`).join("")}`;
  });
  const failure = error === undefined ? "" : indented(codeErrorText(error, tried));
  const logged = logs.map(({ level, text }) => `  ${style.dim(`${level}:`)} ${indentedLines(text)}\n`);
  return [head, ...differences, failure, ...logged].join("");
}

function differenceText({ path, before, after }: Difference, style: Io["style"]): string {
  const value = (one: { readonly value: unknown }): string => clip(terminalJson(one.value), VALUE_WIDTH);
  const name = terminalText(path);
  if (before === undefined) return style.green(`+ ${name}: ${value(after ?? { value: undefined })}`);
  if (after === undefined) return style.red(`- ${name}: ${value(before)}`);
  return `${style.yellow("~")} ${name}: ${style.red(value(before))} → ${style.green(value(after))}`;
}

/** An error with its place and the line of code: `hash.ts:3:12: TypeError: …`. */
export function codeErrorText({ message, line, column }: CodeError, { file, code }: TriedCode): string {
  const place = [file, line, line === undefined ? undefined : column].filter((part) => part !== undefined);
  const head = `${terminalText(place.join(":"))}: ${terminalLines(message)}\n`;
  const text = line === undefined ? undefined : code.split(/\r?\n/)[line - 1];
  if (text === undefined || text.trim() === "") return head;
  const shown = clip(text.replaceAll("\t", " "), LINE_WIDTH);
  const mark =
    column === undefined || column > shown.length ? "" : `    ${" ".repeat(Math.max(0, column - 1))}^\n`;
  return `${head}    ${terminalText(shown)}\n${mark}`;
}

/** How many messages there are of each result: `3 same, 1 failed`. */
export function countsText(counts: { readonly [K in TransformationResult["result"]]: number }): string {
  const words = (["same", "changed", "dropped", "failed"] as const)
    .filter((result) => counts[result] > 0)
    .map((result) => `${counts[result]} ${result}`);
  return words.join(", ");
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}

function indentedLines(text: string): string {
  return terminalLines(text).replaceAll("\n", "\n    ");
}
