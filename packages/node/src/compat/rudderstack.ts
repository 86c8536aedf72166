import { contained } from "@sluice/core";
import { type AnalyticsOptions, Analytics as Client, type Receipt } from "@sluice/node";
import type { Advise } from "../usage-advice.js";
import { MessageEnds } from "./message-ends.js";
import { type Translation, translateOptions } from "./other-options.js";

/** The options of `@rudderstack/rudder-sdk-node`. Options of our own are accepted too, except `maxQueueSize`. */
export interface RudderStackOptions extends Omit<AnalyticsOptions, "maxQueueSize"> {
  /** The collector's base URL. */
  dataPlaneUrl?: string | undefined;
  /** Messages queued before a flush. Default: 20. */
  flushAt?: number | undefined;
  /** Milliseconds between flushes. Default: 10_000. */
  flushInterval?: number | undefined;
  /** The most messages in memory. Default: 20_000. */
  maxInternalQueueSize?: number | undefined;
  /** Called with an error for each batch that is lost. */
  errorHandler?: ((error: Error) => unknown) | undefined;
  /** Retries after the first attempt. Default: 10. */
  retryCount?: number | undefined;
  /** Milliseconds for one request. Default: 10_000. */
  timeout?: number | undefined;
  /** Default: `true`. */
  gzip?: boolean | undefined;
  /** `false` withholds every call. Default: `true`. */
  enable?: boolean | undefined;
  /** No effect: a request has at most 500 KB. */
  maxQueueSize?: number | undefined;
  /** No effect. */
  path?: string | undefined;
  /** No effect. */
  logLevel?: string | undefined;
  /** No effect. */
  axiosConfig?: unknown;
  /** No effect. */
  axiosInstance?: unknown;
  /** No effect. */
  axiosRetryConfig?: unknown;
}

const OPTIONS: Readonly<Record<string, Translation>> = {
  dataPlaneUrl: "host",
  flushInterval: "flushAfter",
  maxInternalQueueSize: "maxQueueSize",
  retryCount: "maxRetries",
  timeout: "requestTimeoutMs",
  enable: (isEnabled: boolean) => ({ disable: !isEnabled }),
  errorHandler: (handler: (error: Error) => unknown) => ({
    onError: (_status, message) => contained(handler, new Error(message)),
  }),
  maxQueueSize: { instead: "a request has at most 500 KB, and `maxInternalQueueSize` limits the queue" },
  path: { instead: "`dataPlaneUrl` may have a path, and /v1/batch follows it" },
  logLevel: { instead: "set the environment variable DEBUG=analytics" },
  axiosConfig: { instead: "use `transport` or `fetch`" },
  axiosInstance: { instead: "use `transport` or `fetch`" },
  axiosRetryConfig: { instead: "use `maxRetries` and `maxTotalRetryMs`" },
};

const DEFAULTS = { flushAt: 20, flushAfter: 10_000, maxQueueSize: 20_000, gzip: true } as const;

type Kind = "identify" | "track" | "page" | "screen" | "group" | "alias";

/** The fields of a call. Which of them are required depends on the call. */
export interface RudderStackMessage {
  userId?: string | number | undefined;
  anonymousId?: string | number | undefined;
  event?: string | undefined;
  name?: string | undefined;
  category?: string | undefined;
  groupId?: string | number | undefined;
  previousId?: string | number | undefined;
  properties?: object | undefined;
  traits?: object | undefined;
  context?: object | undefined;
  integrations?: object | undefined;
  messageId?: string | undefined;
  timestamp?: Date | string | number | undefined;
  originalTimestamp?: Date | string | undefined;
}

/** Called when the message is delivered, or with the reason when it is lost. */
export type RudderStackCallback = (error: Error | undefined, message?: object) => unknown;

/**
 * A client with the calls and options of `@rudderstack/rudder-sdk-node`, which sends to a collector. It never throws except from the
 * constructor.
 *
 * @example
 * const client = new RudderAnalytics("wk_…", { dataPlaneUrl: "https://events.example.com" });
 * client.track({ userId: "u1", event: "Signed Up" });
 * await client.flush();
 */
export class RudderAnalytics {
  readonly #client: Client;
  readonly #ends: MessageEnds;
  readonly #advise: Advise;

  /** @throws ConfigError naming option, rule and value. */
  constructor(writeKey: string, options: RudderStackOptions = {}) {
    const translated = translateOptions("RudderStack", options, OPTIONS);
    this.#advise = translated.advise;
    this.#client = new Client({ ...DEFAULTS, ...translated.options, writeKey });
    this.#ends = new MessageEnds(this.#client);
  }

  identify(message: RudderStackMessage, callback?: RudderStackCallback): this {
    return this.#send("identify", message, callback);
  }

  track(message: RudderStackMessage, callback?: RudderStackCallback): this {
    return this.#send("track", message, callback);
  }

  page(message: RudderStackMessage, callback?: RudderStackCallback): this {
    return this.#send("page", message, callback);
  }

  screen(message: RudderStackMessage, callback?: RudderStackCallback): this {
    return this.#send("screen", message, callback);
  }

  group(message: RudderStackMessage, callback?: RudderStackCallback): this {
    return this.#send("group", message, callback);
  }

  alias(message: RudderStackMessage, callback?: RudderStackCallback): this {
    return this.#send("alias", message, callback);
  }

  /** Sends what is queued. Resolves, and calls back, when it has ended. */
  async flush(callback?: RudderStackCallback): Promise<void> {
    const { failed } = await this.#client.flush();
    if (typeof callback !== "function") return;
    contained(callback, failed === 0 ? undefined : new Error(`${failed} messages were lost`));
  }

  /** Sends what is queued and closes the client. RudderStack's client has no such call. */
  async close(options?: { timeoutMs?: number | undefined }): Promise<void> {
    await this.#client.close(options);
  }

  /** There is no queue in Redis here. Calls back with an error. */
  createPersistenceQueue(_options: unknown, callback?: (error: Error) => unknown): void {
    const text = "RudderStack's createPersistenceQueue has no effect: use the option `spool: { directory }`.";
    this.#advise("persistence", text);
    if (typeof callback === "function") queueMicrotask(() => contained(callback, new Error(text)));
  }

  #send(kind: Kind, message: object, callback: RudderStackCallback | undefined): this {
    const send = this.#client[kind] as (message: object) => Receipt;
    const receipt = send(message);
    if (typeof callback === "function")
      this.#ends.watch(receipt, (error) => contained(callback, error, message));
    return this;
  }
}
