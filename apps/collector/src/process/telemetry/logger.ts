import {
  jsonLine,
  LOG_LEVELS,
  type LogFields,
  type LogLevel,
  type LogRecord,
  type LogTerminal,
  prettyLine,
} from "./log-line.js";

const HIDDEN = "[hidden]";

/** Names of secret fields, in lower case and without separators. */
const SECRET_NAME =
  /(?:^(?:(?:set)?cookie|writekeys?|credentials?|key|privatekey|passphrase|sig|otlpheaders)|(?:authorization|tokens?|secrets?|secretkey|apikey|accesskey|password|passwd|signature))$/;

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.toLowerCase().replace(/[-_]/g, ""));
}

/** User and password of a URL. Each repetition is bounded, so that no text takes long. */
const IN_URL = /\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#@"'<>]{1,500}@/gi;
/** The value of `Authorization`, of a secret parameter in a query, and of a secret in text such as `token: x`. */
const AFTER_SCHEME = /\b(Bearer|Basic)\s+[A-Za-z0-9+/._~=-]{4,2000}/gi;
const AFTER_NAME =
  /\b((?:[a-z]{1,20}[-_])?(?:token|secret|password|passwd|api[-_]?key|access[-_]?key|signature|sig|write[-_]?key|authorization)["']?\s?[=:]\s?["']?)(?!\[hidden\]|(?:Bearer|Basic)\b)[^\s&"',;)}#]{1,2000}/gi;
/** Write keys and admin tokens, which the collector makes, and secrets of Standard Webhooks. */
const OWN = /\b(?:(?:wk|oregon|dublin|slt)_[A-Za-z0-9]{16,200}|whsec_[A-Za-z0-9+/=]{16,200})/g;

/** The text with credentials replaced that can be recognized without knowing them. */
export function withoutSecrets(text: string): string {
  return text
    .replace(IN_URL, `$1${HIDDEN}@`)
    .replace(AFTER_SCHEME, `$1 ${HIDDEN}`)
    .replace(AFTER_NAME, `$1${HIDDEN}`)
    .replace(OWN, HIDDEN);
}

export { LOG_LEVELS, type LogFields, type LogLevel, type LogRecord } from "./log-line.js";
export type LogFormat = "json" | "pretty";

/**
 * Writes one line per event, with time, level, msg and component. Secrets are hidden; errors include their causes. Of warnings and errors
 * with the same text, ten are written in ten seconds; the next one afterwards says how many were `withheld`.
 */
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
  /** Colours and the width of the terminal, for `pretty`. Default: no colours, and lines are not cut. */
  readonly terminal?: LogTerminal;
  /** Also receives each line, for other outputs. Default: none. */
  readonly also?: ((record: LogRecord) => void) | undefined;
  /** Milliseconds since the epoch. Default: the clock of this machine. */
  readonly now?: () => number;
}

const TROUBLE: ReadonlySet<LogLevel> = new Set(["warn", "error"]);

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
    terminal = {},
    also,
  } = options;
  const least = LOG_LEVELS.indexOf(level);
  const repeated = repeatedLines();
  /** The line, unless it is below the level or repeats. */
  const recordOf = (at: LogLevel, event: string, fields: LogFields): LogRecord | undefined => {
    if (LOG_LEVELS.indexOf(at) < least) return undefined;
    const time = new Date(now());
    const withheld = TROUBLE.has(at) ? repeated(event, time.getTime()) : 0;
    if (withheld === undefined) return undefined;
    return { time, level: at, msg: withoutSecrets(event), fields: fieldsOfLine(fields, withheld) };
  };
  const make = (bound: LogFields): Logger => {
    const log =
      (at: LogLevel) =>
      (event: string, fields: LogFields = {}): void => {
        const record = recordOf(at, event, { ...bound, ...fields });
        if (record === undefined) return;
        write(`${format === "json" ? jsonLine(record) : prettyLine(record, terminal)}\n`);
        also?.(record);
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

function fieldsOfLine({ component = "collector", ...others }: LogFields, withheld: number): LogFields {
  // The line itself has some of these names.
  const fields = { component, ...renamed(printable(others, 0) as LogFields) };
  return withheld === 0 ? fields : { ...fields, withheld };
}

/** A copy that `JSON.stringify` can write, with secrets hidden and long values cut. */
function printable(value: unknown, depth: number): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "string")
    return withoutSecrets(value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "…";
  if (value instanceof Error) return printableError(value, depth);
  if (value instanceof Date) return value;
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => printable(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      isSecretName(name) ? HIDDEN : printable(item, depth + 1),
    ]),
  );
}

function printableError(error: Error, depth: number): LogFields {
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return {
    name,
    message: printable(message, depth),
    ...(code === undefined ? {} : { code: String(code) }),
    ...(stack === undefined ? {} : { stack: printable(stack, depth) }),
    ...(cause === undefined ? {} : { cause: printable(cause, depth + 1) }),
  };
}

/** Fields that are named like parts of the line. */
function renamed({ time, level, msg, ...fields }: LogFields): LogFields {
  return {
    ...fields,
    ...(time === undefined ? {} : { timeValue: time }),
    ...(level === undefined ? {} : { levelValue: level }),
    ...(msg === undefined ? {} : { msgValue: msg }),
  };
}

/** How often one line may be written in a window. */
const MOST_LINES = 10;
const WINDOW_MS = 10_000;
/** Texts of lines are constants of the code. This only keeps a mistake from filling memory. */
const MOST_TEXTS = 1_000;

interface Window {
  readonly fromMs: number;
  lines: number;
}

/**
 * Whether a warning or an error is written: a loop that fails must not fill the disk with its lines. Returns the number of lines with
 * this text that were withheld since the last one that was written, or undefined if this one is to be withheld.
 */
type RepeatedLines = (text: string, nowMs: number) => number | undefined;

function repeatedLines(): RepeatedLines {
  const windows = new Map<string, Window>();
  return (text, nowMs) => {
    const window = windows.get(text);
    // A clock that was set back begins a new one too.
    const isOver = window === undefined || nowMs - window.fromMs >= WINDOW_MS || nowMs < window.fromMs;
    if (isOver) {
      if (windows.size >= MOST_TEXTS) windows.clear();
      windows.set(text, { fromMs: nowMs, lines: 1 });
      return Math.max(0, (window?.lines ?? 0) - MOST_LINES);
    }
    window.lines += 1;
    return window.lines > MOST_LINES ? undefined : 0;
  };
}
