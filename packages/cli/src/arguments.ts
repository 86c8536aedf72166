import { FILTER_FIELDS, isPlainObject, parseFilter } from "@sluice/protocol";
import type { Command } from "commander";
import { CommandFailure } from "./failures.js";

/** A copy without the fields that are undefined, such as options that were not given. */
export function definedFields<T extends object>(
  fields: T,
): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };
}

const ONE_TERM = /^(-?[\w.]+:)([^"]*\s[^"]*)$/;
const NAMES = new RegExp(`(^|\\s)-?(${FILTER_FIELDS.join("|")}|properties\\.|traits\\.|context\\.)`);

/**
 * Joins a filter from its arguments. The shell removes quotation marks (`event:"Signed Up"` arrives as one argument
 * with a space), so they are added again if an argument can only be one term.
 */
export function filterText(args: readonly string[]): string {
  return args
    .map((argument) => {
      const term = ONE_TERM.exec(argument);
      if (term === null || NAMES.test(term[2] ?? "")) return argument;
      return `${term[1]}"${term[2]}"`;
    })
    .join(" ");
}

/** Parses a filter from its arguments. Errors point at the wrong term. Returns undefined for no filter. */
export function readFilterArgument(args: readonly string[]): string | undefined {
  const text = filterText(args);
  if (text.trim() === "") return undefined;
  const parsed = parseFilter(text);
  if (parsed.ok) return text;
  throw new CommandFailure("usage", `${parsed.issue.message}\n  ${text}\n  ${" ".repeat(parsed.issue.at)}^`);
}

export const FILTER_HELP = `
Filter:
  type:track event:"Signed Up" user:42 outcome:failed -properties.plan:free checkout
  All terms must match. The same field twice means either value, - means not, and * at the end matches any ending.
  Fields: ${FILTER_FIELDS.join(", ")}, properties.…, traits.…, context.…. Other words are searched for as text.`;

/** Parses an option that must be a JSON object. */
export function readJsonObject(option: string, text: string): { readonly [name: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    if (isPlainObject(value)) return value;
  } catch {
    // Reported below, like JSON that is not an object.
  }
  throw new CommandFailure("usage", `${option} must be a JSON object, got ${text}`);
}

/** Parses `--port`, 0 to 65535. */
export function readPort(text: string): number {
  return readInteger("--port", text, 0, 65_535);
}

/** Parses an integer from `min` to `max`. Errors name the option. */
export function readInteger(option: string, text: string, min: number, max: number): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new CommandFailure("usage", `${option} must be an integer from ${min} to ${max}, got ${text}`);
}

/** Parses a duration such as `500ms`, `30s`, `5m`, `2h` or `7d`; a plain number is milliseconds. Errors name the option. */
export function readDuration(option: string, text: string): number {
  const match = /^(\d{1,12})(ms|s|m|h|d)?$/.exec(text);
  if (match === null)
    throw new CommandFailure(
      "usage",
      `${option} must be a duration such as 500ms, 30s, 5m, 2h or 7d, got ${text}`,
    );
  return Number(match[1]) * UNITS_MS[(match[2] ?? "ms") as keyof typeof UNITS_MS];
}

/** Formats a duration in the largest unit without a fraction, such as `7d` or `90m`. `readDuration` parses it. */
export function durationText(ms: number): string {
  const [unit, size] = Object.entries(UNITS_MS).findLast(([, unitMs]) => ms % unitMs === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses `--count`, after how many items a command stops. Infinity if it is not given. */
export function readCount(text: string | undefined): number {
  return text === undefined ? Number.POSITIVE_INFINITY : readInteger("--count", text, 1, 1e9);
}

/** Adds the option of commands that list the newest items. */
export function withLimit(command: Command): Command {
  return command.option("-n, --limit <n>", "show at most n", "50");
}

export function readLimit(text: string): number {
  return readInteger("--limit", text, 1, 500);
}

/** Adds the options for the time when a message was received. */
export function withTimeRange(command: Command): Command {
  return command
    .option("--from <time>", "received at or after this time (ISO 8601)")
    .option("--to <time>", "received before this time (ISO 8601)");
}
