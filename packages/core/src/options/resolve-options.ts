import { type JsonObject, LIMITS } from "@sluice/protocol";
import { ConfigError } from "../errors/config-error.js";
import type { BeforeSend } from "../message/before-send.js";
import { type TraceApi, traceContext } from "../message/trace-context.js";
import type { FlushPolicy } from "../queue/flush-policy.js";
import type { WaitUntil } from "../queue/request-flush.js";
import type { OnError } from "../reporting/reports.js";
import type { Instrument } from "../sending/instrument.js";
import type { Transport } from "../transport/transport.js";
import { resolveHost } from "./host.js";
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
