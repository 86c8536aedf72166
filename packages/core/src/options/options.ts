import { type JsonObject, LIMITS } from "@sluice/protocol";
import { ConfigError } from "../errors/config-error.js";
import type { FlushPolicy } from "../queue/flush-policy.js";
import type { OnError } from "../reporting/reports.js";
import type { Instrument } from "../sending/instrument.js";
import type { Transport } from "../transport/transport.js";
import { resolveHost } from "./host.js";

/** Options of every client. Only `writeKey` is required. */
export interface AnalyticsOptions {
  /**
   * The source's write key. An environment variable may be given as it is: where it is not set, the constructor throws a
   * `ConfigError`.
   */
  writeKey: string | undefined;
  /** Messages queued before a flush. 1 sends each message in its own request, at once. Default: 20. */
  flushAt?: number | undefined;
  /** An alias of `flushAt`, as the Go library has it. */
  size?: number | undefined;
  /** Milliseconds from the last flush to the next, where something is queued. Default: 5_000. */
  flushAfter?: number | undefined;
  /**
   * - `"batched"`: by `flushAt` and `flushAfter`, as the Go library does.
   * - `"eager"`: the first message at once, then all that is queued whenever no request is outstanding, as the Ruby library does.
   *
   * Default: `"batched"`.
   */
  flushPolicy?: "batched" | "eager" | undefined;
  /** Messages in a request, at most; a request is also cut at 500 KB. Default: 100. */
  batchSize?: number | undefined;
  /** Messages held in memory at most, those in flight included; further ones are refused. Default: 10_000. */
  maxQueueSize?: number | undefined;
  /** Bytes of JSON held in memory at most, those in flight included; further ones are refused. Default: 33_554_432 (32 MB). */
  maxQueueBytes?: number | undefined;
  /**
   * Told of every message that will not arrive, once, and why. It may throw or reject: that is contained.
   *
   * @example
   * onError: (status, message, { code, messages }) => log.warn({ status, code, lost: messages.length }, message)
   */
  onError?: OnError | undefined;
  /** `true`: nothing reaches the server and everything counts as delivered. Default: `false`. */
  stub?: boolean | undefined;
  /**
   * The collector's base URL, with or without `/v1`, or the name of a region. Default: `"oregon"`.
   *
   * @example
   * host: "https://events.example.com"
   */
  host?: string | undefined;
  /** An alias of `host`, as the Go library has it. */
  endpoint?: string | undefined;
  /** Base URLs of the regions. Default: `SLUICE_OREGON_URL` and `SLUICE_DUBLIN_URL`; oregon without either is the local collector. */
  regions?: { oregon?: string | undefined; dublin?: string | undefined } | undefined;
  /** Requests outstanding at once, 1 to 8. More than 1 gives up the order of messages. Default: 1. */
  maxInFlight?: number | undefined;
  /** Milliseconds for one attempt, from connecting to the last byte of the answer. Default: 10_000. */
  requestTimeoutMs?: number | undefined;
  /** Retries after the first attempt; waits that the server asked for cost none. Default: 10. */
  maxRetries?: number | undefined;
  /** Milliseconds from the first attempt of a batch to its last, whatever the server asks for. Default: 43_200_000 (12 hours). */
  maxTotalRetryMs?: number | undefined;
  /** Compresses request bodies, off the main thread. Default: `false`. */
  gzip?: boolean | undefined;
  /**
   * Merged under each message's own `context`, key by key.
   *
   * @example
   * context: { app: { name: "shop", version: "1.4.0" } }
   */
  context?: JsonObject | undefined;
  /**
   * Merged under each message's own `integrations`, key by key.
   *
   * @example
   * integrations: { All: false, Webhooks: true }
   */
  integrations?: JsonObject | undefined;
  /** How requests are made. Default: `undiciTransport()` on Node.js. */
  transport?: Transport | undefined;
  /** Called around each request: for spans and trace headers. */
  instrument?: Instrument | undefined;
}

/** The numbers, each once. `docs/reference/options.md` is compared with them. */
export const DEFAULTS = {
  flushAt: 20,
  flushAfter: 5_000,
  flushPolicy: "batched",
  batchSize: 100,
  maxQueueSize: 10_000,
  maxQueueBytes: 33_554_432,
  stub: false,
  maxInFlight: 1,
  requestTimeoutMs: 10_000,
  maxRetries: 10,
  maxTotalRetryMs: 43_200_000,
  gzip: false,
} as const satisfies Partial<AnalyticsOptions>;

/** Options as the engine reads them: checked, complete, in milliseconds and bytes. */
export interface ResolvedOptions {
  readonly writeKey: string;
  /** Where batches go. */
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
  readonly context: JsonObject | undefined;
  readonly integrations: JsonObject | undefined;
  readonly transport: Transport | undefined;
  readonly onError: OnError | undefined;
  readonly instrument: Instrument | undefined;
}

type Given = { readonly [name: string]: unknown };

/** Checks what was given and completes it. Throws `ConfigError`; nothing later does. */
export function resolveOptions(
  options: AnalyticsOptions,
  environment: Readonly<Record<string, string | undefined>> = {},
): ResolvedOptions {
  if (typeof options !== "object" || options === null) {
    throw new ConfigError("options", "must be an object with a `writeKey`", options);
  }
  const given = options as unknown as Given;
  const writeKey = given.writeKey;
  if (typeof writeKey !== "string" || writeKey.trim() === "") {
    throw new ConfigError("writeKey", "must be a non-empty string", writeKey);
  }
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
      // A queue that is full takes nothing more: it cannot reach a higher count.
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
    context: jsonObject(given, "context"),
    integrations: jsonObject(given, "integrations"),
    transport: transport as Transport | undefined,
    onError: callback(given, "onError") as OnError | undefined,
    instrument: callback(given, "instrument") as Instrument | undefined,
  };
}

/** Whole milliseconds, messages or bytes. */
export function integer(
  given: Given,
  option: string,
  fallback: number,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): number {
  const value = given[option] ?? fallback;
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < min || value > max) {
    const range = max === Number.MAX_SAFE_INTEGER ? `>= ${min}` : `from ${min} to ${max}`;
    throw new ConfigError(option, `must be an integer ${range}`, value);
  }
  return value;
}

export function flag(given: Given, option: string, fallback: boolean): boolean {
  const value = given[option] ?? fallback;
  if (typeof value !== "boolean") throw new ConfigError(option, "must be true or false", value);
  return value;
}

function callback(given: Given, option: string): unknown {
  const value = given[option];
  if (value !== undefined && value !== null && typeof value !== "function") {
    throw new ConfigError(option, "must be a function", value);
  }
  return value ?? undefined;
}

function jsonObject(given: Given, option: string): JsonObject | undefined {
  const value = given[option];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object" || Array.isArray(value))
    throw new ConfigError(option, "must be an object", value);
  // A snapshot: what the caller does to its object later must not change messages.
  return { ...value };
}

/** The name under which an option with an alias was given; both at once would leave it open which one holds. */
function oneOf<Name extends string>(given: Given, option: Name, alias: Name): Name {
  if (given[alias] === undefined) return option;
  if (given[option] !== undefined)
    throw new ConfigError(alias, `is an alias of \`${option}\`: give one of the two`, given[alias]);
  return alias;
}
