import { contained } from "@sluice/core";
import { type AnalyticsOptions, Analytics as Client, type Fetch, type Receipt } from "@sluice/node";
import type { Advise } from "../usage-advice.js";
import { MessageEnds } from "./message-ends.js";
import { type Translation, translateOptions } from "./other-options.js";

/** The settings of `@segment/analytics-node`. Options of our own are accepted too. */
export interface SegmentSettings extends AnalyticsOptions {
  /** Messages queued before a flush. Default: 15. */
  flushAt?: number | undefined;
  /** An alias of `flushAt`. */
  maxEventsInBatch?: number | undefined;
  /** Milliseconds between flushes. Default: 10_000. */
  flushInterval?: number | undefined;
  /** Milliseconds for one request. Default: 10_000. */
  httpRequestTimeout?: number | undefined;
  /** A `fetch` to send with. Objects with `makeRequest` have no effect. */
  httpClient?: unknown;
  /** Seconds. Default: 43_200. */
  maxTotalBackoffDuration?: number | undefined;
  /** No effect. */
  maxRateLimitDuration?: number | undefined;
  /** No effect: the path is `/v1/batch`. */
  path?: string | undefined;
  /** No effect. */
  oauthSettings?: unknown;
}

const SETTINGS: Readonly<Record<string, Translation>> = {
  maxEventsInBatch: "flushAt",
  flushInterval: "flushAfter",
  httpRequestTimeout: "requestTimeoutMs",
  httpClient: (client: unknown) =>
    typeof client === "function"
      ? { fetch: client as Fetch }
      : { instead: "use `transport`, because it takes only a fetch function here" },
  maxTotalBackoffDuration: (seconds: number) => ({ maxTotalRetryMs: seconds * 1_000 }),
  maxRateLimitDuration: { instead: "`maxTotalRetryMs` limits all retries of a batch" },
  path: { instead: "`host` may have a path, and /v1/batch follows it" },
  oauthSettings: { instead: "the collector knows only write keys" },
};

const DEFAULTS = { flushAt: 15, flushAfter: 10_000 } as const;

type Kind = "identify" | "track" | "page" | "screen" | "group" | "alias";
const KINDS: ReadonlySet<unknown> = new Set(["identify", "track", "page", "screen", "group", "alias"]);

/** The fields of a call. Which of them are required depends on the call. */
export interface SegmentCall {
  userId?: string | number | undefined;
  anonymousId?: string | number | undefined;
  messageId?: string | undefined;
  timestamp?: Date | string | number | undefined;
  context?: object | undefined;
  integrations?: object | undefined;
}

type TrackParams = SegmentCall & { event: string; properties?: object | undefined };
type IdentifyParams = SegmentCall & {
  traits?: object | undefined;
  /** Sent as a field of the message, as Segment's README shows. To join two ids, call `alias`. */
  previousId?: string | number | undefined;
};
type GroupParams = SegmentCall & { groupId: string | number; traits?: object | undefined };
type AliasParams = SegmentCall & { userId: string | number; previousId: string | number };
type PageParams = SegmentCall & {
  name?: string | undefined;
  category?: string | undefined;
  properties?: object | undefined;
};

/** What callbacks and listeners get about a message. */
export interface SegmentContext {
  /** The message id. */
  readonly id: string;
  /** The call's fields, with `type` and `messageId`. */
  readonly event: { readonly type: Kind; readonly messageId: string } & Readonly<Record<string, unknown>>;
  failedDelivery(): { readonly reason: unknown } | undefined;
}

/** Called when the message is delivered, or with the reason when it is lost. */
export type SegmentCallback = (error: unknown, context: SegmentContext) => unknown;

/** The events of `on`, with the arguments of their listeners. */
export interface SegmentEvents {
  identify: [context: SegmentContext];
  track: [context: SegmentContext];
  page: [context: SegmentContext];
  screen: [context: SegmentContext];
  group: [context: SegmentContext];
  alias: [context: SegmentContext];
  error: [error: { code: string; reason: unknown; ctx?: SegmentContext }];
  call_after_close: [event: SegmentContext["event"]];
  drained: [];
}

/**
 * A client with the calls and settings of `@segment/analytics-node`, which sends to a collector. It has no plugins and no OAuth, and it
 * never throws except from the constructor.
 *
 * @example
 * const analytics = new Analytics({ writeKey: "wk_…", host: "https://events.example.com" });
 * analytics.track({ userId: "u1", event: "Signed Up" }, (error) => console.log(error));
 * await analytics.closeAndFlush();
 */
export class SegmentAnalytics {
  /** Resolved: the client is ready at once. */
  readonly ready: Promise<void> = Promise.resolve();
  readonly #client: Client;
  readonly #ends: MessageEnds;
  readonly #advise: Advise;
  readonly #listeners = new Map<string, ((...args: never[]) => unknown)[]>();
  #isWatchingDrain = false;

  /** @throws ConfigError naming option, rule and value. */
  constructor(settings: SegmentSettings = {}) {
    const { options, advise } = translateOptions("Segment", settings, SETTINGS);
    this.#advise = advise;
    this.#client = new Client({ ...DEFAULTS, ...options });
    this.#ends = new MessageEnds(this.#client);
  }

  identify(call: IdentifyParams, callback?: SegmentCallback): void {
    this.#send("identify", call, callback);
  }

  track(call: TrackParams, callback?: SegmentCallback): void {
    this.#send("track", call, callback);
  }

  page(call: PageParams, callback?: SegmentCallback): void {
    this.#send("page", call, callback);
  }

  screen(call: PageParams, callback?: SegmentCallback): void {
    this.#send("screen", call, callback);
  }

  group(call: GroupParams, callback?: SegmentCallback): void {
    this.#send("group", call, callback);
  }

  alias(call: AliasParams, callback?: SegmentCallback): void {
    this.#send("alias", call, callback);
  }

  /** Sends what is queued. Resolves when it has ended, or after `timeout` milliseconds. `close` also closes the client. */
  async flush(options: { timeout?: number; close?: boolean } = {}): Promise<void> {
    if (contained(() => options.close) === true) return this.closeAndFlush(options);
    await this.#client.flush({ timeoutMs: timeoutOf(options) });
  }

  /** Sends what is queued and closes the client. After `timeout` milliseconds it gives up. Default: 60_000. */
  async closeAndFlush(options: { timeout?: number } = {}): Promise<void> {
    await this.#client.close({ timeoutMs: timeoutOf(options) });
  }

  on<Name extends keyof SegmentEvents>(
    name: Name,
    listener: (...args: SegmentEvents[Name]) => unknown,
  ): this {
    if (KINDS.has(name) || name === "error" || name === "call_after_close" || name === "drained") {
      this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]);
      if (name === "drained") this.#watchDrain();
    } else {
      const shown = typeof name === "string" ? name : typeof name;
      const text = `Segment's event "${shown}" is not emitted here: use \`instrument\` or @sluice/node's on("request").`;
      this.#advise(`event ${shown}`, text);
    }
    return this;
  }

  once<Name extends keyof SegmentEvents>(
    name: Name,
    listener: (...args: SegmentEvents[Name]) => unknown,
  ): this {
    const once = (...args: SegmentEvents[Name]): unknown => {
      this.off(name, once);
      return listener(...args);
    };
    return this.on(name, once);
  }

  off<Name extends keyof SegmentEvents>(
    name: Name,
    listener: (...args: SegmentEvents[Name]) => unknown,
  ): this {
    const listeners = this.#listeners.get(name) ?? [];
    this.#listeners.set(
      name,
      listeners.filter((other) => other !== listener),
    );
    return this;
  }

  /** Plugins do not run here. */
  async register(..._plugins: unknown[]): Promise<void> {
    this.#advise("plugins", "Segment's plugins do not run here: use the option `beforeSend`.");
  }

  /** Plugins do not run here. */
  async deregister(..._names: string[]): Promise<void> {
    this.#advise("plugins", "Segment's plugins do not run here: use the option `beforeSend`.");
  }

  #send(kind: Kind, call: object, callback: SegmentCallback | undefined): void {
    const send = this.#client[kind] as (call: object) => Receipt;
    const receipt = send(call);
    if (!receipt.accepted && receipt.reason === "closed")
      this.#emit("call_after_close", contextOf(kind, call, receipt.messageId).event);
    const isCallback = typeof callback === "function";
    // Without anybody to tell, the call costs no more than a plain one.
    if (!isCallback && !this.#hasListener(kind) && !this.#hasListener("error")) return;
    this.#ends.watch(receipt, (error) => {
      const context = contextOf(kind, call, receipt.messageId, error);
      if (isCallback) contained(callback, error, context);
      if (error) this.#emit("error", { code: "delivery_failure", reason: error, ctx: context });
      else this.#emit(kind, context);
    });
  }

  #watchDrain(): void {
    if (this.#isWatchingDrain) return;
    this.#isWatchingDrain = true;
    const check = (): void => {
      if (this.#client.stats().queued === 0) this.#emit("drained");
    };
    this.#client.on("delivered", check);
    this.#client.on("failed", check);
  }

  #hasListener(name: keyof SegmentEvents): boolean {
    return (this.#listeners.get(name)?.length ?? 0) > 0;
  }

  #emit<Name extends keyof SegmentEvents>(name: Name, ...args: SegmentEvents[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) contained(listener, ...(args as never[]));
  }
}

function contextOf(type: Kind, call: object, messageId: string, error?: Error): SegmentContext {
  // A call whose fields cannot be read was refused.
  const fields = contained(() => ({ ...call })) as object | undefined;
  return {
    id: messageId,
    event: { ...fields, type, messageId },
    failedDelivery: () => error && { reason: error },
  };
}

function timeoutOf(options: { timeout?: number }): number | undefined {
  return contained(() => options.timeout) as number | undefined;
}
