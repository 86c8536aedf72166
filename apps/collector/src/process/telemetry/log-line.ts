export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogFields {
  readonly [name: string]: unknown;
}

/** A line that was written. Secrets are hidden, and long values are cut. */
export interface LogRecord {
  readonly time: Date;
  readonly level: LogLevel;
  readonly msg: string;
  /** With `component`. */
  readonly fields: LogFields;
}

/** The terminal that log lines are shown on. */
export interface LogTerminal {
  /** Default: false. */
  readonly hasColors?: boolean;
  /** Longer lines are cut. Default: no limit. */
  readonly columns?: number;
}

/** A log line for machines. */
export function jsonLine({ time, level, msg, fields }: LogRecord): string {
  return JSON.stringify({ time: time.toISOString(), level, msg, ...fields });
}

/** More values are for machines: JSON has all of them. */
const MAX_VALUES = 4;
const MAX_VALUE_LENGTH = 80;
const COLORS: { readonly [Level in LogLevel]: number } = { debug: 2, info: 36, warn: 33, error: 31 };

/** A log line for people: time, level, sentence, and a few values in brackets. */
export function prettyLine({ time, level, msg, fields }: LogRecord, terminal: LogTerminal): string {
  const clock = timeOfDay(time);
  const word = level.padEnd(5);
  const text = clip(
    `${sentence(msg)}${valuesText(fields)}`,
    (terminal.columns ?? Number.POSITIVE_INFINITY) - clock.length - word.length - 2,
  );
  return terminal.hasColors === true
    ? `\u001b[2m${clock}\u001b[22m \u001b[${COLORS[level]}m${word}\u001b[0m ${text}`
    : `${clock} ${word} ${text}`;
}

/** In the time zone of this machine, as on other clocks in the room. */
function timeOfDay(time: Date): string {
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

function sentence(message: string): string {
  const text = oneLine(message);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** ` (destination dst_1, after failures 10)`, and at the end the message of an error. */
function valuesText({ error, component: _, ...fields }: LogFields): string {
  const values = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .slice(0, MAX_VALUES)
    .map(([name, value]) => `${words(name)} ${valueText(value)}`);
  const brackets = values.length === 0 ? "" : ` (${values.join(", ")})`;
  return error === undefined ? brackets : `${brackets}: ${errorText(error)}`;
}

/** `destinationId` as `destination id`. */
function words(name: string): string {
  return oneLine(name.replace(/([a-z])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`));
}

function valueText(value: unknown): string {
  return clip(
    oneLine(typeof value === "string" ? value : (JSON.stringify(value) ?? "none")),
    MAX_VALUE_LENGTH,
  );
}

function errorText(error: unknown): string {
  const { message } = (error ?? {}) as { readonly message?: unknown };
  return oneLine(typeof message === "string" ? message : String(error));
}

function clip(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, Math.max(1, width - 1)).join("")}…`;
}

/** Escapes control characters, so that text from clients can neither forge lines nor control a terminal. */
function oneLine(text: string): string {
  return text.replace(
    /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu,
    (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}
