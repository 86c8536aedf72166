import { KB, REGIONS, type Region } from "@sluice/protocol";
import { CLUSTER_SETTINGS, type ClusterConfig } from "./settings/cluster-settings.js";
import {
  baseUrl,
  httpUrl,
  integer,
  list,
  listenAddress,
  oneOf,
  orWord,
  text,
} from "./settings/parse-setting.js";
import type { Setting } from "./settings/setting.js";
import { LOG_LEVELS, type LogFormat, type LogLevel } from "./telemetry/logger.js";

export type { Setting } from "./settings/setting.js";

/** The configuration of a collector. A test compares `docs/reference/configuration.md` with `SETTINGS`. */
export interface CollectorConfig extends ClusterConfig {
  readonly host: string;
  readonly port: number;
  readonly adminListen: { readonly host: string; readonly port: number } | undefined;
  readonly publicUrl: string | undefined;
  readonly dataDir: string;
  readonly adminToken: string | undefined;
  readonly metricsToken: string | undefined;
  readonly region: Region | undefined;
  readonly oregonUrl: string | undefined;
  readonly dublinUrl: string | undefined;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat | "auto";
  readonly dedupeWindowMs: number;
  readonly retentionMs: number | "none";
  readonly retentionBytes: number | "auto" | "none";
  readonly maxBufferedBytes: number;
  readonly maxConnections: number;
  readonly requestTimeoutMs: number;
  readonly messagesPerSecond: number | "auto" | "none";
  readonly trustedProxies: number;
  readonly proxyHeaders: "x-forwarded" | "forwarded";
  readonly allowTargets: readonly string[];
  readonly destinations: readonly string[];
  readonly workers: number | "auto";
  readonly allowedHosts: readonly string[];
  readonly closeGraceMs: number;
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
  adminListen: {
    env: "SLUICE_ADMIN_LISTEN",
    default: undefined,
    rule: "an address of this machine with a port, such as `127.0.0.1:8788` or `[::1]:8788`",
    parse: listenAddress,
    meaning:
      "A second address, for the dashboard, the control API and `/metrics`. `host` and `port` then serve only ingestion, `/healthz` and `/readyz`. Absent: there is one address for all.",
  },
  publicUrl: {
    env: "SLUICE_PUBLIC_URL",
    default: undefined,
    rule: "an http or https URL without query, fragment and password",
    parse: baseUrl,
    meaning:
      "The URL at which clients send messages, such as `https://events.example.com`. Settings for browsers and the snippets of the dashboard name it. Absent: the URL of its own region, or the one that each client used.",
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
  metricsToken: {
    env: "SLUICE_METRICS_TOKEN",
    default: undefined,
    rule: "a text of at least 16 characters",
    parse: (value) => (typeof value === "string" && value.length >= 16 ? value : undefined),
    meaning:
      "A token that can only read `/metrics`, for Prometheus on another machine. On the collector's machine, `/metrics` needs none.",
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
    default: "auto",
    rule: "one of auto, json, pretty",
    parse: oneOf(["auto", "json", "pretty"] as const),
    meaning:
      "`json`: one JSON object per line. `pretty`: a short line for people. `auto`: `pretty` if stderr is a terminal, else `json`.",
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
    meaning:
      "Maximum number of open connections. Beyond it, a new one takes the place of an idle one of the client address that has the most.",
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
      "Messages per second from each source without a limit of its own. Beyond it clients get 429. `auto`: 10,000 from each web or mobile source, whose keys are public, and 50,000 from each server source. `none`: no limit.",
  },
  trustedProxies: {
    env: "SLUICE_TRUSTED_PROXIES",
    default: 0,
    rule: "an integer from 0 to 10",
    parse: integer(0, 10),
    meaning:
      "Number of proxies in front of the collector whose headers are believed. 0: the headers are ignored.",
  },
  proxyHeaders: {
    env: "SLUICE_PROXY_HEADERS",
    default: "x-forwarded",
    rule: "`x-forwarded` or `forwarded`",
    parse: oneOf(["x-forwarded", "forwarded"] as const),
    meaning:
      "Which headers these proxies write: `X-Forwarded-For`, `-Proto` and `-Host`, or `Forwarded`. The other kind is ignored, because a proxy passes it on from clients.",
  },
  allowTargets: {
    env: "SLUICE_ALLOW_TARGETS",
    default: [],
    rule: "a list of addresses, blocks and host names (`10.1.0.0/16`, `hooks.internal`, `*.internal`), separated by commas",
    parse: list,
    meaning:
      "Webhook targets that are allowed besides public addresses. Link-local and metadata addresses are never allowed.",
  },
  destinations: {
    env: "SLUICE_DESTINATIONS",
    default: [],
    rule: "a list of names of packages, or paths of files that begin with `./` or `/`, separated by commas",
    parse: list,
    meaning:
      "Packages with further destination types, such as `@sluice/destination-email`, installed in the folder where the collector starts. They run in its process and are trusted. One that cannot be used is named in the log and in the catalog.",
  },
  workers: {
    env: "SLUICE_WORKERS",
    default: "auto",
    rule: "`auto` or an integer from 1 to 64",
    parse: orWord(["auto"], integer(1, 64)),
    meaning:
      "How many threads work, the main one included. With two or more, requests are taken and webhooks sent in threads of their own, so that a machine with several cores takes and delivers more. `auto`: one less than the machine has cores, at least 1 and at most 8; 1 with less than 1 GB of memory.",
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
  ...CLUSTER_SETTINGS,
};
