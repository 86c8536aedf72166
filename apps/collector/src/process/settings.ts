import { KB, REGIONS, type Region } from "@sluice/protocol";
import { LOG_LEVELS, type LogFormat, type LogLevel } from "./telemetry/logger.js";

/** The configuration of a collector. A test compares `docs/reference/configuration.md` with `SETTINGS`. */
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

/** How a setting is read, checked and described. */
export interface Setting<T> {
  /** The environment variable; the key in the file is the name in `SETTINGS`. */
  readonly env: string;
  readonly default: T;
  /** Completes the sentence "SETTING must be …". */
  readonly rule: string;
  /** Parses text (environment) or a JSON value (file); undefined if it breaks the rule. */
  readonly parse: (value: unknown) => T | undefined;
  readonly meaning: string;
  /** Neither errors nor logs show the value. */
  readonly isSecret?: boolean;
}

const HOUR_MS = 60 * 60 * 1_000;

export const SETTINGS: { readonly [K in keyof CollectorConfig]: Setting<CollectorConfig[K]> } = {
  host: {
    env: "SLUICE_HOST",
    default: "127.0.0.1",
    rule: "an address of this machine",
    parse: text,
    meaning: "The address to listen on. `0.0.0.0`: all addresses.",
  },
  port: {
    env: "SLUICE_PORT",
    default: 8_787,
    rule: "an integer from 0 to 65535",
    parse: integer(0, 65_535),
    meaning: "The port to listen on. `0`: any free port.",
  },
  dataDir: {
    env: "SLUICE_DATA_DIR",
    default: "./sluice-data",
    rule: "the path of a folder",
    parse: text,
    meaning: "The folder for all data.",
  },
  adminToken: {
    env: "SLUICE_ADMIN_TOKEN",
    default: undefined,
    rule: "a text of at least 16 characters",
    parse: (value) => (typeof value === "string" && value.length >= 16 ? value : undefined),
    meaning: "The token of the control API. Absent: the collector creates one in the data folder.",
    isSecret: true,
  },
  region: {
    env: "SLUICE_REGION",
    default: undefined,
    rule: `one of ${REGIONS.join(", ")}`,
    parse: oneOf(REGIONS),
    meaning:
      "The region this collector runs as. Absent: `oregon` if a URL of a region is set, else none: write keys and responses name no region.",
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
    meaning: "The lowest level that is logged.",
  },
  logFormat: {
    env: "SLUICE_LOG_FORMAT",
    default: "json",
    rule: "one of json, pretty",
    parse: oneOf(["json", "pretty"] as const),
    meaning: "`json`: one JSON object per line. `pretty`: text for people.",
  },
  dedupeWindowMs: {
    env: "SLUICE_DEDUPE_WINDOW_MS",
    default: 24 * HOUR_MS,
    rule: "an integer of at least 86400000 (24 h)",
    parse: integer(24 * HOUR_MS),
    meaning: "How long the collector remembers each `messageId`, to ignore duplicates.",
  },
  retentionMs: {
    env: "SLUICE_RETENTION_MS",
    default: 30 * 24 * HOUR_MS,
    rule: "an integer of at least 86400000 (24 h), or `none`",
    parse: orWord(["none"], integer(24 * HOUR_MS)),
    meaning: "How long messages are kept; 30 days by default. `none`: forever.",
  },
  retentionBytes: {
    env: "SLUICE_RETENTION_BYTES",
    default: "auto",
    rule: "an integer of at least 10485760 (10 MB), `auto` or `none`",
    parse: orWord(["auto", "none"], integer(10 * KB * KB)),
    meaning:
      "Disk space for messages. Beyond it the oldest are removed. `auto`: half of the volume with the data folder, at most 50 GB. `none`: no limit.",
  },
  maxBufferedBytes: {
    env: "SLUICE_MAX_BUFFERED_BYTES",
    default: 64 * KB * KB,
    rule: "an integer of at least 1048576 (1 MB)",
    parse: integer(KB * KB),
    meaning:
      "Memory for the bodies of all requests together. Beyond it clients get 503 `overloaded`. One client address may hold as much as is still free, and requests without a valid write key share an eighth.",
  },
  maxConnections: {
    env: "SLUICE_MAX_CONNECTIONS",
    default: 10_000,
    rule: "an integer of at least 1",
    parse: integer(1),
    meaning: "Maximum number of open connections. Further ones are closed.",
  },
  requestTimeoutMs: {
    env: "SLUICE_REQUEST_TIMEOUT_MS",
    default: 9_000,
    rule: "an integer of at least 1000",
    parse: integer(1_000),
    meaning: "Time limit for receiving a request.",
  },
  messagesPerSecond: {
    env: "SLUICE_MESSAGES_PER_SECOND",
    default: "auto",
    rule: "an integer of at least 1, `auto` or `none`",
    parse: orWord(["auto", "none"], integer(1)),
    meaning:
      "Messages per second from each source without a limit of its own. Beyond it clients get 429. `auto`: 10,000 from web and mobile sources, whose keys are public, and no limit for server sources. `none`: no limit.",
  },
  trustedProxies: {
    env: "SLUICE_TRUSTED_PROXIES",
    default: 0,
    rule: "an integer from 0 to 10",
    parse: integer(0, 10),
    meaning:
      "Number of proxies in front of the collector that append to `X-Forwarded-For`. 0: the header is ignored.",
  },
  allowTargets: {
    env: "SLUICE_ALLOW_TARGETS",
    default: [],
    rule: "a list of addresses, blocks and host names (`10.1.0.0/16`, `hooks.internal`, `*.internal`), separated by commas",
    parse: list,
    meaning:
      "Webhook targets that are allowed besides public addresses. Link-local and metadata addresses are never allowed.",
  },
  allowedHosts: {
    env: "SLUICE_ALLOWED_HOSTS",
    default: [],
    rule: "a list of host names (`events.example.com`, `*.example.com`, `*`), separated by commas",
    parse: list,
    meaning:
      "Host names for the dashboard, the control API and `/metrics`, besides addresses and `localhost`. `*`: all. Empty: none if `host` is a loopback address, else all. Ingestion accepts every host name.",
  },
  closeGraceMs: {
    env: "SLUICE_CLOSE_GRACE_MS",
    default: 8_000,
    rule: "an integer from 0 to 600000",
    parse: integer(0, 600_000),
    meaning: "How long pending requests and deliveries may take after SIGTERM.",
  },
};

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
