import { readFileSync } from "node:fs";
import { KB, REGIONS, type Region } from "@sluice/protocol";
import { LOG_LEVELS, type LogFormat, type LogLevel } from "./logger.js";

/** Everything that can be set about a collector; `docs/reference/configuration.md` is compared with `SETTINGS` by a test. */
export interface CollectorConfig {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly adminToken: string | undefined;
  readonly region: Region | undefined;
  readonly oregonUrl: string | undefined;
  readonly dublinUrl: string | undefined;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly dedupeWindowMs: number;
  readonly retentionMs: number | "none";
  readonly retentionBytes: number | "auto" | "none";
  readonly maxBufferedBytes: number;
  readonly maxConnections: number;
  readonly requestTimeoutMs: number;
  readonly messagesPerSecond: number | "auto" | "none";
  readonly trustedProxies: number;
  readonly allowTargets: readonly string[];
  readonly allowedHosts: readonly string[];
  readonly closeGraceMs: number;
}

/** A setting: where it is read from, what it may be, and why. */
export interface Setting<T> {
  /** The environment variable; the key in the file is the name in `SETTINGS`. */
  readonly env: string;
  readonly default: T;
  /** What a value must be, as a sentence goes on after "must be". */
  readonly rule: string;
  /** The value, from text (environment) or JSON (file); undefined when it breaks the rule. */
  readonly parse: (value: unknown) => T | undefined;
  readonly meaning: string;
  /** Never shown, neither in messages nor in logs. */
  readonly isSecret?: boolean;
}

const HOUR_MS = 60 * 60 * 1_000;

export const SETTINGS: { readonly [K in keyof CollectorConfig]: Setting<CollectorConfig[K]> } = {
  host: {
    env: "SLUICE_HOST",
    default: "127.0.0.1",
    rule: "an address of this machine",
    parse: text,
    meaning: "The address to listen on. `0.0.0.0` for every one.",
  },
  port: {
    env: "SLUICE_PORT",
    default: 8_787,
    rule: "an integer from 0 to 65535",
    parse: integer(0, 65_535),
    meaning: "The port to listen on. `0` for any free one.",
  },
  dataDir: {
    env: "SLUICE_DATA_DIR",
    default: "./sluice-data",
    rule: "the path of a folder",
    parse: text,
    meaning: "The folder in which everything is kept.",
  },
  adminToken: {
    env: "SLUICE_ADMIN_TOKEN",
    default: undefined,
    rule: "a text of at least 16 characters",
    parse: (value) => (typeof value === "string" && value.length >= 16 ? value : undefined),
    meaning: "The token of the control API. Made and kept in the data folder when absent.",
    isSecret: true,
  },
  region: {
    env: "SLUICE_REGION",
    default: undefined,
    rule: `one of ${REGIONS.join(", ")}`,
    parse: oneOf(REGIONS),
    meaning:
      "The region this collector runs as. Absent: `oregon` where a URL of a region is set, else none, and nothing names a region.",
  },
  oregonUrl: {
    env: "SLUICE_OREGON_URL",
    default: undefined,
    rule: "an http or https URL",
    parse: httpUrl,
    meaning: "The base URL at which clients reach the region oregon.",
  },
  dublinUrl: {
    env: "SLUICE_DUBLIN_URL",
    default: undefined,
    rule: "an http or https URL",
    parse: httpUrl,
    meaning: "The base URL at which clients reach the region dublin.",
  },
  logLevel: {
    env: "SLUICE_LOG_LEVEL",
    default: "info",
    rule: `one of ${LOG_LEVELS.join(", ")}`,
    parse: oneOf(LOG_LEVELS),
    meaning: "The least that is logged.",
  },
  logFormat: {
    env: "SLUICE_LOG_FORMAT",
    default: "json",
    rule: "one of json, pretty",
    parse: oneOf(["json", "pretty"] as const),
    meaning: "One JSON object a line, or text for people.",
  },
  dedupeWindowMs: {
    env: "SLUICE_DEDUPE_WINDOW_MS",
    default: 24 * HOUR_MS,
    rule: "an integer of at least 86400000 (24 h)",
    parse: integer(24 * HOUR_MS),
    meaning: "How long a messageId is remembered, so that the same one is not taken twice.",
  },
  retentionMs: {
    env: "SLUICE_RETENTION_MS",
    default: 30 * 24 * HOUR_MS,
    rule: "an integer of at least 86400000 (24 h), or `none`",
    parse: orWord(["none"], integer(24 * HOUR_MS)),
    meaning: "How long messages are kept: 30 days. `none`: for ever.",
  },
  retentionBytes: {
    env: "SLUICE_RETENTION_BYTES",
    default: "auto",
    rule: "an integer of at least 10485760 (10 MB), `auto` or `none`",
    parse: orWord(["auto", "none"], integer(10 * KB * KB)),
    meaning:
      "How much disk messages may take; beyond it the oldest are removed. `auto`: half of the volume that the data folder is on, 50 GB at most. `none`: no limit.",
  },
  maxBufferedBytes: {
    env: "SLUICE_MAX_BUFFERED_BYTES",
    default: 64 * KB * KB,
    rule: "an integer of at least 1048576 (1 MB)",
    parse: integer(KB * KB),
    meaning:
      "Request bodies held in memory, of all requests together; beyond it clients get 503 `overloaded`. One client address may hold as much as is free for the others, and requests without a good write key share an eighth.",
  },
  maxConnections: {
    env: "SLUICE_MAX_CONNECTIONS",
    default: 10_000,
    rule: "an integer of at least 1",
    parse: integer(1),
    meaning: "Connections open at once; further ones are closed.",
  },
  requestTimeoutMs: {
    env: "SLUICE_REQUEST_TIMEOUT_MS",
    default: 9_000,
    rule: "an integer of at least 1000",
    parse: integer(1_000),
    meaning: "How long a request may take to arrive.",
  },
  messagesPerSecond: {
    env: "SLUICE_MESSAGES_PER_SECOND",
    default: "auto",
    rule: "an integer of at least 1, `auto` or `none`",
    parse: orWord(["auto", "none"], integer(1)),
    meaning:
      "Messages a second taken from each source that has no limit of its own; beyond it clients get 429. `auto`: 10,000 from web and mobile sources, whose keys are public, and no limit for server sources. `none`: no limit.",
  },
  trustedProxies: {
    env: "SLUICE_TRUSTED_PROXIES",
    default: 0,
    rule: "an integer from 0 to 10",
    parse: integer(0, 10),
    meaning:
      "How many proxies in front of the collector append to `X-Forwarded-For`. 0: the header is not believed.",
  },
  allowTargets: {
    env: "SLUICE_ALLOW_TARGETS",
    default: [],
    rule: "a list of addresses, blocks and host names (`10.1.0.0/16`, `hooks.internal`, `*.internal`), separated by commas",
    parse: list,
    meaning:
      "Targets of webhooks that are allowed beside public addresses. Link-local and metadata addresses never are.",
  },
  allowedHosts: {
    env: "SLUICE_ALLOWED_HOSTS",
    default: [],
    rule: "a list of host names (`events.example.com`, `*.example.com`, `*`), separated by commas",
    parse: list,
    meaning:
      "Names under which dashboard, control API and `/metrics` answer, beside addresses and `localhost`. `*`: all. Empty: these only where `host` is a loopback address, all elsewhere. Ingestion answers under every name.",
  },
  closeGraceMs: {
    env: "SLUICE_CLOSE_GRACE_MS",
    default: 8_000,
    rule: "an integer from 0 to 600000",
    parse: integer(0, 600_000),
    meaning: "How long requests and deliveries under way may go on after SIGTERM.",
  },
};

/** The configuration cannot be used; the message has one line for each thing that is wrong. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

export interface ConfigInputs {
  /** What the command line says; wins over everything else. */
  readonly flags?: { readonly [K in keyof CollectorConfig]?: unknown };
  readonly env?: { readonly [name: string]: string | undefined };
  /** Path of a JSON file with settings by name. Default: what `SLUICE_CONFIG` says, else none. */
  readonly file?: string;
  readonly readFile?: (path: string) => string;
}

/** The configuration from command line, environment, file and defaults, in this order. Throws a `ConfigError` that names every problem. */
export function loadConfig(inputs: ConfigInputs = {}): CollectorConfig {
  const { flags = {}, env = process.env, readFile = (path) => readFileSync(path, "utf8") } = inputs;
  const problems: string[] = [];
  const path = inputs.file ?? env.SLUICE_CONFIG;
  const file = path === undefined || path === "" ? {} : readSettings(path, readFile, problems);
  const config: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(SETTINGS) as [keyof CollectorConfig, Setting<unknown>][]) {
    const fromEnv = env[setting.env];
    const [value, origin] =
      flags[name] !== undefined
        ? [flags[name], `option ${name}`]
        : fromEnv !== undefined && fromEnv !== ""
          ? [fromEnv, setting.env]
          : [file[name], `${name} in ${path}`];
    if (value === undefined || value === null) {
      config[name] = setting.default;
      continue;
    }
    const parsed = setting.parse(value);
    if (parsed === undefined) {
      const got = setting.isSecret === true ? "" : `, got ${JSON.stringify(value)}`;
      problems.push(`${origin} must be ${setting.rule}${got}`);
    } else config[name] = parsed;
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config as unknown as CollectorConfig;
}

function readSettings(
  path: string,
  readFile: (path: string) => string,
  problems: string[],
): { readonly [name: string]: unknown } {
  let content: unknown;
  try {
    content = JSON.parse(readFile(path));
  } catch (error) {
    problems.push(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return {};
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    problems.push(`${path} must hold a JSON object`);
    return {};
  }
  for (const name of Object.keys(content)) {
    if (!Object.hasOwn(SETTINGS, name)) problems.push(`${name} in ${path} is no setting`);
  }
  return content as { [name: string]: unknown };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

function integer(min: number, max = Number.MAX_SAFE_INTEGER): (value: unknown) => number | undefined {
  return (value) => {
    const number =
      typeof value === "string" && /^\d+$/.test(value.trim()) ? Number(value) : (value as number | undefined);
    return Number.isSafeInteger(number) && (number as number) >= min && (number as number) <= max
      ? (number as number)
      : undefined;
  };
}

function orWord<const T extends string>(
  words: readonly T[],
  parse: (value: unknown) => number | undefined,
): (value: unknown) => number | T | undefined {
  return (value) => words.find((word) => word === value) ?? parse(value);
}

function oneOf<const T extends string>(values: readonly T[]): (value: unknown) => T | undefined {
  return (value) => values.find((known) => known === value);
}

function list(value: unknown): readonly string[] | undefined {
  const items = typeof value === "string" ? value.split(",") : value;
  if (!Array.isArray(items) || items.some((item) => typeof item !== "string")) return undefined;
  return items.map((item: string) => item.trim()).filter((item) => item !== "");
}

function httpUrl(value: unknown): string | undefined {
  if (typeof value !== "string" || !URL.canParse(value)) return undefined;
  const { protocol } = new URL(value);
  return protocol === "http:" || protocol === "https:" ? value.replace(/\/+$/, "") : undefined;
}
