import type { JsonObject } from "@sluice/protocol";
import type { BeforeSend } from "../message/before-send.js";
import type { TraceApi } from "../message/call-context.js";
import type { Fields } from "../message/tracking-plan.js";
import type { WaitUntil } from "../queue/request-flush.js";
import type { OnError } from "../reporting/reports.js";
import type { Instrument } from "../sending/instrument.js";
import type { Transport } from "../transport.js";

/** The options of a client. Only `writeKey` is required, here or in the environment. */
export interface AnalyticsOptions {
  /** The source's write key. Default: the environment variable `SLUICE_WRITE_KEY`. Without either, the constructor throws a `ConfigError`. */
  writeKey?: string | undefined;
  /** Messages queued before a flush. 1 sends each message at once, in its own request. Default: 20. */
  flushAt?: number | undefined;
  /** An alias of `flushAt`: its name in the Go library. */
  size?: number | undefined;
  /** Milliseconds from the last flush to the next, if something is queued. Default: 5_000. */
  flushAfter?: number | undefined;
  /**
   * - `"batched"`: by `flushAt` and `flushAfter`, as the Go library does.
   * - `"eager"`: the first message at once, then everything that is queued whenever no request is in flight, as the Ruby library does.
   *
   * Default: `"batched"`.
   */
  flushPolicy?: "batched" | "eager" | undefined;
  /** The most messages in a request. A request is also limited to 500 KB. Default: 100. */
  batchSize?: number | undefined;
  /** The most messages held in memory, those in flight included. Further ones are refused; `ready()` waits for room. Default: 10_000. */
  maxQueueSize?: number | undefined;
  /** The most bytes of JSON held in memory, those in flight included. Further ones are refused. Default: 33_554_432 (32 MB). */
  maxQueueBytes?: number | undefined;
  /**
   * Called once for every message that will not arrive, with the reason. Errors thrown by it are swallowed.
   *
   * @example
   * onError: (status, message, { code, messages }) => log.warn({ status, code, lost: messages.length }, message)
   */
  onError?: OnError | undefined;
  /**
   * Changes each message before it is sent, or drops it by returning `null`. Several run in order. It may return a promise: the message
   * waits in the queue meanwhile. If it throws or takes too long, the message is refused. Default: none.
   *
   * @example
   * beforeSend: (message) => (message.event === "Heartbeat" ? null : message)
   */
  beforeSend?: BeforeSend | readonly BeforeSend[] | undefined;
  /**
   * `@opentelemetry/api`: each message gets the `traceparent` and `tracestate` of the active span, so that the collector's spans and the
   * webhook's receiver join its trace. Default: none.
   *
   * @example
   * import * as api from "@opentelemetry/api";
   * const analytics = new Analytics({ openTelemetry: api });
   */
  openTelemetry?: TraceApi | undefined;
  /** How long the promises of `beforeSend` may take for a message, in milliseconds. Default: 5_000. */
  beforeSendTimeoutMs?: number | undefined;
  /** `true`: every call is withheld, and counted as `disabled`, until `setEnabled(true)`. Default: `false`. */
  disable?: boolean | undefined;
  /** `true`: the SDK prints no warnings on stderr. Default: `false`. */
  quiet?: boolean | undefined;
  /** `true`: nothing is sent, and everything counts as delivered. Default: `false`. */
  stub?: boolean | undefined;
  /**
   * The collector's base URL, with or without `/v1`, or the name of a region. Default: the environment variable
   * `SLUICE_URL`, or else `"oregon"`.
   *
   * @example
   * host: "https://events.example.com"
   */
  host?: string | undefined;
  /** An alias of `host`: its name in the Go library. */
  endpoint?: string | undefined;
  /** Base URLs of the regions. Default: `SLUICE_OREGON_URL` and `SLUICE_DUBLIN_URL`. If neither is set, oregon is the local collector. */
  regions?: { oregon?: string | undefined; dublin?: string | undefined } | undefined;
  /** Requests in flight at once, 1 to 8. With more than 1, messages may arrive out of order. Default: 1. */
  maxInFlight?: number | undefined;
  /** The longest time for one attempt in milliseconds, from connecting to the last byte of the answer. Default: 10_000. */
  requestTimeoutMs?: number | undefined;
  /** Retries after the first attempt. Retries that the server asked for are not counted. Default: 10. */
  maxRetries?: number | undefined;
  /** The longest time from the first attempt of a batch to its last, in milliseconds, whatever the server asks for. Default: 43_200_000 (12 hours). */
  maxTotalRetryMs?: number | undefined;
  /** Compresses request bodies, off the main thread. Default: `false`. */
  gzip?: boolean | undefined;
  /**
   * Merged under each message's own `context`, key by key.
   *
   * @example
   * context: { app: { name: "shop", version: "1.4.0" } }
   */
  context?: Fields | undefined;
  /**
   * Merged under each message's own `integrations`, key by key.
   *
   * @example
   * integrations: { All: false, Webhooks: true }
   */
  integrations?: JsonObject | undefined;
  /** How requests are made. Default: `undiciTransport()` on Node.js. */
  transport?: Transport | undefined;
  /**
   * For serverless functions: messages are sent at once, and this function keeps the request alive until they are. Default: none.
   *
   * @example
   * import { waitUntil } from "cloudflare:workers"; // or from "@vercel/functions"
   * const analytics = new Analytics({ writeKey, waitUntil });
   */
  waitUntil?: WaitUntil | undefined;
  /** Called before and after each request, for spans and trace headers. */
  instrument?: Instrument | undefined;
}

/** The default values. A test compares `docs/reference/options.md` with them. */
export const DEFAULTS = {
  flushAt: 20,
  flushAfter: 5_000,
  flushPolicy: "batched",
  batchSize: 100,
  maxQueueSize: 10_000,
  maxQueueBytes: 33_554_432,
  beforeSendTimeoutMs: 5_000,
  disable: false,
  quiet: false,
  stub: false,
  maxInFlight: 1,
  requestTimeoutMs: 10_000,
  maxRetries: 10,
  maxTotalRetryMs: 43_200_000,
  gzip: false,
} as const satisfies Partial<AnalyticsOptions>;

/** The Go library's behaviour: a flush every 20 messages or 5 seconds. These are also the defaults. */
export const goDefaults = {
  flushPolicy: "batched",
  flushAt: 20,
  flushAfter: 5_000,
} as const satisfies Partial<AnalyticsOptions>;

/** The Ruby library's behaviour: the first message is sent at once, then whatever is queued when a request ends. */
export const rubyDefaults = {
  flushPolicy: "eager",
  batchSize: 100,
  maxQueueSize: 10_000,
} as const satisfies Partial<AnalyticsOptions>;
