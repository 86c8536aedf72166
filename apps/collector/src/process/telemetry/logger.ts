export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFormat = "json" | "pretty";

export interface LogFields {
  readonly [name: string]: unknown;
}

/** Writes one line per event. Values of fields that are named like secrets are hidden; errors include their causes. */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each line. */
  with(fields: LogFields): Logger;
}

export interface LoggerOptions {
  /** The lowest level that is written. Default: `info`. */
  readonly level?: LogLevel;
  /** `json`: one object per line; `pretty`: text for people. Default: `json`. */
  readonly format?: LogFormat;
  /** Receives each line, with its line feed. Default: writes to stderr. */
  readonly write?: (line: string) => void;
  /** Milliseconds since the epoch. Default: the clock of this machine. */
  readonly now?: () => number;
}

/** Names of secret fields at any depth, in lower case and without separators. */
const SECRET =
  /^(authorization|cookie|writekeys?|token|admintoken|sharedsecrets?|secrets?|password|signature|xsignature)$/;
const HIDDEN = "[hidden]";
/** Values that are deeper or longer are cut, to keep log lines small. */
const MAX_DEPTH = 6;
const MAX_TEXT = 4_096;
const MAX_ITEMS = 100;

export function createLogger(options: LoggerOptions = {}): Logger {
  const {
    level = "info",
    format = "json",
    write = (line) => process.stderr.write(line),
    now = Date.now,
  } = options;
  const least = LOG_LEVELS.indexOf(level);
  const make = (bound: LogFields): Logger => {
    const log =
      (at: LogLevel) =>
      (event: string, fields: LogFields = {}): void => {
        if (LOG_LEVELS.indexOf(at) < least) return;
        const safe = printable({ ...bound, ...fields }, 0) as LogFields;
        const time = new Date(now()).toISOString();
        write(
          format === "json"
            ? `${JSON.stringify({ time, level: at, event, ...safe })}\n`
            : `${time} ${at.padEnd(5)} ${oneLine(event)}${pretty(safe)}\n`,
        );
      };
    return {
      debug: log("debug"),
      info: log("info"),
      warn: log("warn"),
      error: log("error"),
      with: (fields) => make({ ...bound, ...fields }),
    };
  };
  return make({});
}

/** A copy that `JSON.stringify` can write, with secrets hidden and long values cut. */
function printable(value: unknown, depth: number): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "string") return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "…";
  if (value instanceof Error) return printableError(value, depth);
  if (value instanceof Date) return value;
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => printable(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, isSecret(name) ? HIDDEN : printable(item, depth + 1)]),
  );
}

function printableError(error: Error, depth: number): LogFields {
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return {
    name,
    message: printable(message, depth),
    ...(code === undefined ? {} : { code: String(code) }),
    ...(stack === undefined ? {} : { stack }),
    ...(cause === undefined ? {} : { cause: printable(cause, depth + 1) }),
  };
}

function isSecret(name: string): boolean {
  return SECRET.test(name.toLowerCase().replace(/[-_]/g, ""));
}

function pretty(fields: LogFields): string {
  return Object.entries(fields)
    .map(([name, value]) => ` ${name}=${typeof value === "string" ? oneLine(value) : JSON.stringify(value)}`)
    .join("");
}

/** Escapes control characters, so that text from clients can neither forge lines nor control a terminal. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}/gu, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
