import { contained } from "@sluice/core";
import { type AnalyticsOptions, type BeforeSend, Analytics as Client } from "@sluice/node";
import type { Advise } from "../usage-advice.js";
import { type Translation, translateOptions } from "./other-options.js";

// biome-ignore lint/suspicious/noExplicitAny: as in PostHog's types, so that objects of an interface fit too.
type Properties = Record<string, any>;

/** The argument of `capture`. */
export interface PostHogEvent {
  distinctId?: string | undefined;
  event: string;
  properties?: Properties | undefined;
  groups?: Record<string, string | number> | undefined;
  timestamp?: Date | string | undefined;
  /** The message id. */
  uuid?: string | undefined;
  /** No effect. */
  sendFeatureFlags?: unknown;
  /** No effect. */
  flags?: unknown;
  /** No effect. */
  disableGeoip?: boolean | undefined;
}

type BeforeCapture = (event: PostHogEvent) => PostHogEvent | null;

/** The options of `posthog-node` that have an effect here. Options of our own are accepted too. */
export interface PostHogOptions extends AnalyticsOptions {
  /** Milliseconds between flushes. Default: 5_000. */
  flushInterval?: number | undefined;
  /** The most messages in a request. Default: 100. */
  maxBatchSize?: number | undefined;
  /** `true` withholds every call. Default: `false`. */
  disabled?: boolean | undefined;
  /** `false` withholds every call until `enable()`. Default: `true`. */
  defaultOptIn?: boolean | undefined;
  /** Milliseconds for one request. Default: 10_000. */
  requestTimeout?: number | undefined;
  /** Retries after the first attempt. Default: 10. */
  fetchRetryCount?: number | undefined;
  /** Called for the events of `capture`. */
  before_send?: BeforeCapture | BeforeCapture[] | undefined;
  /** `false` compresses request bodies. Default: `true`. */
  disableCompression?: boolean | undefined;
  /** No effect. */
  fetchRetryDelay?: unknown;
  /** No effect. */
  secretKey?: unknown;
  /** No effect. */
  personalApiKey?: unknown;
  /** No effect. */
  enableLocalEvaluation?: unknown;
  /** No effect. */
  strictLocalEvaluation?: unknown;
  /** No effect. */
  featureFlagsPollingInterval?: unknown;
  /** No effect. */
  featureFlagsRequestTimeoutMs?: unknown;
  /** No effect. */
  sendFeatureFlagEvent?: unknown;
  /** No effect. */
  flagDefinitionCacheProvider?: unknown;
  /** No effect. */
  evaluationContexts?: unknown;
  /** No effect. */
  enableExceptionAutocapture?: unknown;
  /** No effect. */
  persistence?: unknown;
  /** No effect. */
  disableGeoip?: unknown;
}

const FLAGS = { instead: "there are no feature flags here" };

const OPTIONS: Readonly<Record<string, Translation>> = {
  flushInterval: "flushAfter",
  maxBatchSize: "batchSize",
  disabled: (isDisabled: boolean) => (isDisabled ? { disable: true } : {}),
  defaultOptIn: (isOptedIn: boolean) => (isOptedIn ? {} : { disable: true }),
  requestTimeout: "requestTimeoutMs",
  fetchRetryCount: "maxRetries",
  fetchRetryDelay: { instead: "retries wait from 100 ms to 10 s" },
  before_send: (hooks: BeforeCapture | BeforeCapture[]) => ({
    beforeSend: [hooks].flat().map(beforeSendOf),
  }),
  disableCompression: (isDisabled: boolean) => ({ gzip: !isDisabled }),
  secretKey: FLAGS,
  personalApiKey: FLAGS,
  enableLocalEvaluation: FLAGS,
  strictLocalEvaluation: FLAGS,
  featureFlagsPollingInterval: FLAGS,
  featureFlagsRequestTimeoutMs: FLAGS,
  sendFeatureFlagEvent: FLAGS,
  flagDefinitionCacheProvider: FLAGS,
  evaluationContexts: FLAGS,
  enableExceptionAutocapture: { instead: "track errors yourself" },
  persistence: { instead: "messages are in memory; `spool: { directory }` keeps them on disk" },
  disableGeoip: { instead: "the collector does not look up places" },
};

/**
 * A client with the calls of `posthog-node` that capture events, which sends to a collector. It has no feature flags. It never throws
 * except from the constructor.
 *
 * @example
 * const client = new PostHog("wk_…", { host: "https://events.example.com" });
 * client.capture({ distinctId: "u1", event: "Signed Up", properties: { plan: "pro" } });
 * await client.shutdown();
 */
export class PostHog {
  readonly #client: Client;
  readonly #advise: Advise;

  /** @throws ConfigError naming option, rule and value. */
  constructor(apiKey: string, options: PostHogOptions = {}) {
    const translated = translateOptions("PostHog", options, OPTIONS);
    this.#advise = translated.advise;
    this.#client = new Client({ ...translated.options, writeKey: apiKey });
  }

  /** `$pageview` is a page and `$screen` a screen; every other event is a track. `$set` in the properties also identifies the user. */
  capture(event: PostHogEvent): void {
    this.#orRefuse("track", event, () => this.#capture(event));
  }

  identify(call: { distinctId: string; properties?: Properties | undefined }): void {
    this.#orRefuse("identify", call, () => {
      const { $set, $set_once, ...others } = call.properties ?? {};
      if ($set_once !== undefined) this.#adviseOnSetOnce();
      this.#client.identify({ userId: call.distinctId, traits: { ...others, ...($set as Properties) } });
    });
  }

  setPersonProperties(call: {
    distinctId: string;
    properties?: Properties | undefined;
    propertiesOnce?: Properties | undefined;
  }): void {
    this.#orRefuse("identify", call, () => {
      if (call.propertiesOnce !== undefined) this.#adviseOnSetOnce();
      this.#client.identify({ userId: call.distinctId, traits: { ...call.properties } });
    });
  }

  /** Sets traits of a group. The group's type becomes the trait `groupType`. */
  groupIdentify(call: {
    groupType: string;
    groupKey: string;
    properties?: Properties | undefined;
    distinctId?: string | undefined;
  }): void {
    this.#orRefuse("group", call, () => {
      const { groupType, groupKey, properties, distinctId } = call;
      const traits = { ...properties, groupType };
      // Without a user, PostHog makes an id of the group.
      const user =
        distinctId === undefined ? { anonymousId: `$${groupType}_${groupKey}` } : { userId: distinctId };
      this.#client.group({ ...user, groupId: groupKey, traits });
    });
  }

  /** Joins `alias` to the user `distinctId`. */
  alias(call: { distinctId: string; alias: string }): void {
    this.#orRefuse("alias", call, () =>
      this.#client.alias({ userId: call.distinctId, previousId: call.alias }),
    );
  }

  /** As `capture`. Resolves when the event has been sent or lost. */
  async captureImmediate(event: PostHogEvent): Promise<void> {
    this.capture(event);
    await this.#client.flush();
  }

  /** As `identify`. Resolves when the message has been sent or lost. */
  async identifyImmediate(call: Parameters<PostHog["identify"]>[0]): Promise<void> {
    this.identify(call);
    await this.#client.flush();
  }

  /** As `groupIdentify`. Resolves when the message has been sent or lost. */
  async groupIdentifyImmediate(call: Parameters<PostHog["groupIdentify"]>[0]): Promise<void> {
    this.groupIdentify(call);
    await this.#client.flush();
  }

  /** As `alias`. Resolves when the message has been sent or lost. */
  async aliasImmediate(call: { distinctId: string; alias: string }): Promise<void> {
    this.alias(call);
    await this.#client.flush();
  }

  /** Calls within `run`, also after an `await`, are of this user. */
  withContext<Result>(
    data: {
      distinctId?: string | undefined;
      sessionId?: string | undefined;
      properties?: Properties | undefined;
    },
    run: () => Result,
  ): Result {
    const { distinctId, sessionId, properties } = (contained(() => ({ ...data })) ?? {}) as typeof data;
    if (properties !== undefined)
      this.#advise("context", "PostHog's withContext takes no `properties` here: pass them to capture().");
    return this.#client.withContext(
      { userId: distinctId, context: sessionId === undefined ? {} : { sessionId } },
      run,
    );
  }

  async enable(): Promise<void> {
    this.#client.setEnabled(true);
  }

  async disable(): Promise<void> {
    this.#client.setEnabled(false);
  }

  async flush(): Promise<void> {
    await this.#client.flush();
  }

  /** Sends what is queued and closes the client. After `timeoutMs` milliseconds it gives up. Default: 30_000. */
  async shutdown(timeoutMs = 30_000): Promise<void> {
    await this.#client.close({ timeoutMs });
  }

  /** Only `"error"` is emitted: messages were lost. Returns an unsubscribe function. */
  on(name: string, listener: (error: Error) => unknown): () => void {
    if (name === "error")
      return this.#client.on("failed", ({ message }) => contained(listener, new Error(message)));
    const shown = typeof name === "string" ? name : typeof name;
    this.#advise(
      `event ${shown}`,
      `PostHog's event "${shown}" is not emitted here: use @sluice/node's on("request").`,
    );
    return () => {};
  }

  debug(): void {
    this.#advise("debug", "PostHog's debug() has no effect: set the environment variable DEBUG=analytics.");
  }

  /** There are no feature flags here: always undefined. */
  async getFeatureFlag(..._args: unknown[]): Promise<undefined> {
    this.#adviseOnFlags();
  }

  /** There are no feature flags here: always undefined. */
  async isFeatureEnabled(..._args: unknown[]): Promise<undefined> {
    this.#adviseOnFlags();
  }

  /** There are no feature flags here: always undefined. */
  async getFeatureFlagPayload(..._args: unknown[]): Promise<undefined> {
    this.#adviseOnFlags();
  }

  /** There are no feature flags here: always empty. */
  async getAllFlags(..._args: unknown[]): Promise<Record<string, never>> {
    this.#adviseOnFlags();
    return {};
  }

  /** There is no error tracking here. */
  captureException(..._args: unknown[]): void {
    this.#advise("exceptions", "PostHog's captureException has no effect: track errors with capture().");
  }

  /** Reads the argument of a call. One that cannot be read is passed on as it is, so that it is refused and counted. */
  #orRefuse(kind: "track" | "identify" | "group" | "alias", argument: unknown, send: () => void): void {
    try {
      send();
    } catch {
      this.#client[kind](argument as never);
    }
  }

  #capture({ distinctId, event, properties = {}, groups, timestamp, uuid, ...others }: PostHogEvent): void {
    if (others.sendFeatureFlags || others.flags) this.#adviseOnFlags();
    const { $set, $set_once, ...rest } = properties;
    if ($set_once !== undefined) this.#adviseOnSetOnce();
    if ($set !== undefined) this.#client.identify({ userId: distinctId, traits: $set } as never);
    const data = groups === undefined ? rest : { ...rest, $groups: groups };
    const call = { userId: distinctId, properties: data, timestamp, messageId: uuid };
    if (event === "$pageview") this.#client.page(call as never);
    else if (event === "$screen") this.#client.screen({ ...call, name: rest.$screen_name } as never);
    else this.#client.track({ ...call, event } as never);
  }

  #adviseOnSetOnce(): void {
    this.#advise(
      "set once",
      "PostHog's $set_once has no effect: traits are always overwritten. Set them once yourself.",
    );
  }

  #adviseOnFlags(): void {
    this.#advise("flags", "PostHog's feature flags do not exist here: use a feature flag service.");
  }
}

/** Runs PostHog's `before_send` for the events of `capture` that are tracks. */
function beforeSendOf(hook: BeforeCapture): BeforeSend {
  return (message) => {
    if (message.type !== "track") return message;
    const { userId, event = "", properties = {}, timestamp, messageId } = message;
    const result = hook({ distinctId: userId, event, properties, timestamp, uuid: messageId });
    if (!result) return result;
    return { ...message, userId: result.distinctId, event: result.event, properties: result.properties };
  };
}
