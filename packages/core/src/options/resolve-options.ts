import {
  DEFAULT_REGION,
  isRegion,
  type JsonObject,
  LIMITS,
  LOCAL_COLLECTOR_URL,
  type Region,
} from "@sluice/protocol";
import { ConfigError } from "../errors.js";
import type { BeforeSend } from "../message/before-send.js";
import { type TraceApi, traceContext } from "../message/call-context.js";
import type { WaitUntil } from "../queue/request-flush.js";
import type { FlushPolicy } from "../queue/scheduler.js";
import type { OnError } from "../reporting/reports.js";
import type { Instrument } from "../sending/instrument.js";
import type { Transport } from "../transport.js";
import { type AnalyticsOptions, DEFAULTS } from "./options.js";
import {
  callback,
  callbacks,
  flag,
  type Given,
  integer,
  jsonObject,
  oneOf,
  readOptions,
} from "./read-option.js";

/** The environment variables for the base URLs of the regions. */
const REGION_VARIABLES: Readonly<Record<Region, string>> = {
  oregon: "SLUICE_OREGON_URL",
  dublin: "SLUICE_DUBLIN_URL",
};

interface HostSources {
  /** The name that the caller used, for errors. */
  readonly option: "host" | "endpoint";
  /** A base URL or the name of a region. Default: the environment variable `SLUICE_URL`, or else the region `oregon`. */
  readonly host?: unknown;
  readonly regions?: unknown;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The base URL of the collector, without `/v1` and without a slash at the end. */
function resolveHost(sources: HostSources): string {
  const { regions, environment } = sources;
  const { option, host = DEFAULT_REGION } = orFromEnvironment(sources);
  if (typeof host !== "string" || host === "") {
    throw new ConfigError(option, "must be a base URL or the name of a region", host);
  }
  if (!isRegion(host)) return baseUrl(option, host);

  const configured = regions === undefined ? undefined : regionUrl(regions, host);
  if (configured !== undefined) return baseUrl(`regions.${host}`, configured);
  const fromEnvironment = environment[REGION_VARIABLES[host]];
  if (fromEnvironment) return baseUrl(REGION_VARIABLES[host], fromEnvironment);
  if (host === DEFAULT_REGION) return LOCAL_COLLECTOR_URL;
  throw new ConfigError(
    option,
    `names a region without a URL: set \`regions.${host}\` or ${REGION_VARIABLES[host]}`,
    host,
  );
}

/** `SLUICE_URL` is used if the options name neither a host nor a URL of the default region. */
function orFromEnvironment({ option, host, regions, environment }: HostSources): {
  readonly option: string;
  readonly host?: unknown;
} {
  const hasRegion = regions !== undefined && regionUrl(regions, DEFAULT_REGION) !== undefined;
  if (host !== undefined || hasRegion || !environment.SLUICE_URL) return { option, host };
  return { option: "SLUICE_URL", host: environment.SLUICE_URL };
}

function regionUrl(regions: unknown, region: Region): unknown {
  if (typeof regions !== "object" || regions === null || Array.isArray(regions)) {
    throw new ConfigError("regions", "must be an object of region names and base URLs", regions);
  }
  for (const name of Object.keys(regions)) {
    if (!isRegion(name)) throw new ConfigError("regions", "knows the regions oregon and dublin only", name);
  }
  return (regions as { [name: string]: unknown })[region];
}

function baseUrl(option: string, text: unknown): string {
  const rule = "must be an http or https URL without user, query and fragment, or the name of a region";
  if (typeof text !== "string") throw new ConfigError(option, rule, text);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new ConfigError(option, rule, text);
  }
  const isHttp = url.protocol === "http:" || url.protocol === "https:";
  // The error does not show the value, because it may contain a password.
  if (url.username !== "" || url.password !== "")
    throw new ConfigError(option, rule, "a URL with a user name");
  if (!isHttp || url.search !== "" || url.hash !== "") throw new ConfigError(option, rule, text);
  // `…/v1`, `…/v1/` and no path mean the same.
  const path = url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "").replace(/\/+$/, "");
  return url.origin + path;
}

/** Options as the engine reads them: checked and complete, in milliseconds and bytes. */
export interface ResolvedOptions {
  readonly writeKey: string;
  /** The URL that batches are sent to. */
  readonly batchUrl: string;
  readonly flushPolicy: FlushPolicy;
  readonly batchMessages: number;
  readonly maxQueueMessages: number;
  readonly maxQueueBytes: number;
  readonly maxInFlight: number;
  readonly requestTimeoutMs: number;
  readonly maxRetries: number;
  readonly maxTotalRetryMs: number;
  readonly gzip: boolean;
  readonly stub: boolean;
  readonly beforeSend: readonly BeforeSend[];
  readonly beforeSendTimeoutMs: number;
  readonly disable: boolean;
  readonly quiet: boolean;
  readonly context: JsonObject | undefined;
  readonly integrations: JsonObject | undefined;
  readonly transport: Transport | undefined;
  readonly onError: OnError | undefined;
  readonly waitUntil: WaitUntil | undefined;
  readonly instrument: Instrument | undefined;
}

/** Checks the options and fills in the defaults. Throws only `ConfigError`. */
export function resolveOptions(
  options: AnalyticsOptions,
  environment: Readonly<Record<string, string | undefined>> = {},
): ResolvedOptions {
  return readOptions(() => checkedOptions(options, environment));
}

function checkedOptions(
  options: AnalyticsOptions,
  environment: Readonly<Record<string, string | undefined>>,
): ResolvedOptions {
  if (typeof options !== "object" || options === null) {
    throw new ConfigError("options", "must be an object, such as { writeKey }", options);
  }
  const given = options as unknown as Given;
  const writeKey = resolveWriteKey(given.writeKey, environment);
  const flushAt = integer(given, oneOf(given, "flushAt", "size"), DEFAULTS.flushAt, 1);
  const hostOption = oneOf(given, "host", "endpoint");
  const host = resolveHost({
    option: hostOption,
    host: given[hostOption],
    regions: given.regions,
    environment,
  });
  const flushPolicy = given.flushPolicy ?? DEFAULTS.flushPolicy;
  if (flushPolicy !== "batched" && flushPolicy !== "eager") {
    throw new ConfigError("flushPolicy", 'must be "batched" or "eager"', flushPolicy);
  }
  const batchSize = integer(given, "batchSize", DEFAULTS.batchSize, 1, LIMITS.batchMessages);
  const maxQueueSize = integer(given, "maxQueueSize", DEFAULTS.maxQueueSize, 1);
  const transport = given.transport;
  if (transport !== undefined && typeof (transport as { send?: unknown } | null)?.send !== "function") {
    throw new ConfigError("transport", "must be an object with a method `send`", transport);
  }

  return {
    writeKey,
    batchUrl: `${host}/v1/batch`,
    flushPolicy: {
      kind: flushPolicy,
      // The queue never holds more than `maxQueueSize` messages, so a higher `flushAt` would never be reached.
      flushAt: Math.min(flushAt, maxQueueSize),
      flushAfterMs: integer(given, "flushAfter", DEFAULTS.flushAfter, 0),
    },
    batchMessages: flushAt === 1 ? 1 : batchSize,
    maxQueueMessages: maxQueueSize,
    maxQueueBytes: integer(given, "maxQueueBytes", DEFAULTS.maxQueueBytes, LIMITS.messageBytes),
    maxInFlight: integer(given, "maxInFlight", DEFAULTS.maxInFlight, 1, 8),
    requestTimeoutMs: integer(given, "requestTimeoutMs", DEFAULTS.requestTimeoutMs, 1),
    maxRetries: integer(given, "maxRetries", DEFAULTS.maxRetries, 0),
    maxTotalRetryMs: integer(given, "maxTotalRetryMs", DEFAULTS.maxTotalRetryMs, 0),
    gzip: flag(given, "gzip", DEFAULTS.gzip),
    stub: flag(given, "stub", DEFAULTS.stub),
    beforeSend: [...traceHooks(given), ...(callbacks(given, "beforeSend") as readonly BeforeSend[])],
    beforeSendTimeoutMs: integer(given, "beforeSendTimeoutMs", DEFAULTS.beforeSendTimeoutMs, 1),
    disable: flag(given, "disable", DEFAULTS.disable),
    quiet: flag(given, "quiet", DEFAULTS.quiet),
    context: jsonObject(given, "context"),
    integrations: jsonObject(given, "integrations"),
    transport: transport as Transport | undefined,
    onError: callback(given, "onError") as OnError | undefined,
    waitUntil: callback(given, "waitUntil") as WaitUntil | undefined,
    instrument: callback(given, "instrument") as Instrument | undefined,
  };
}

/** First, so that `beforeSend` functions can remove what it adds. */
function traceHooks({ openTelemetry }: Given): readonly BeforeSend[] {
  if (openTelemetry === undefined || openTelemetry === null) return [];
  const { context, propagation } = openTelemetry as Partial<TraceApi>;
  if (typeof context?.active !== "function" || typeof propagation?.inject !== "function")
    throw new ConfigError("openTelemetry", "must be the module @opentelemetry/api", openTelemetry);
  return [traceContext({ context, propagation })];
}

function resolveWriteKey(given: unknown, environment: Readonly<Record<string, string | undefined>>): string {
  const fromEnvironment = environment.SLUICE_WRITE_KEY;
  const isGiven = given !== undefined || !fromEnvironment;
  const writeKey = isGiven ? given : fromEnvironment;
  if (typeof writeKey === "string" && writeKey.trim() !== "") return writeKey;
  const rule = isGiven
    ? "must be a non-empty string: pass it, or set SLUICE_WRITE_KEY in the environment"
    : "must be a write key";
  throw new ConfigError(isGiven ? "writeKey" : "SLUICE_WRITE_KEY", rule, writeKey);
}
