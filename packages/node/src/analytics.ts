import {
  type AliasCall,
  type AnalyticsEvents,
  ConfigError,
  createEngine,
  type Engine,
  type FlushResult,
  fetchTransport,
  type GroupCall,
  type IdentifyCall,
  type Receipt,
  resolveOptions,
  type Stats,
  type TrackCall,
  type TrackingPlan,
  type View,
  viewArguments,
} from "@sluice/core";
import { environmentVariables, nodePlatform } from "./node-platform.js";
import { NODE_DEFAULTS, type NodeAnalyticsOptions, resolveNodeOptions } from "./options.js";
import { watchProcessEnd } from "./process-end.js";
import { lazySpool } from "./spool/lazy-spool.js";

/** No plan: every name and every shape is allowed. */
// biome-ignore lint/complexity/noBannedTypes: a plan that names nothing is an object type without keys.
type NoPlan = {};

/**
 * A client: it queues messages and sends them in batches in the background.
 *
 * Only the constructor throws (`ConfigError`). No other call throws or rejects, whatever its arguments are and whatever the server does.
 * Lost messages are reported to `onError`. You can pass its methods on without the object.
 *
 * @typeParam Plan A tracking plan that types all calls. Default: none.
 * @example
 * const analytics = new Analytics({ writeKey: "wk_…", host: "https://events.example.com" });
 * analytics.track({ userId: "u1", event: "Signed Up", properties: { plan: "pro" } });
 * await analytics.close();
 */
export class Analytics<Plan extends TrackingPlan = NoPlan> {
  readonly #engine: Engine;
  readonly #unwatch: () => void;

  /** @throws ConfigError naming option, rule and value. */
  constructor(options: NodeAnalyticsOptions) {
    const environment = environmentVariables();
    const resolved = resolveOptions(withFetch(options), environment);
    const { flushOnSignals, exitFlushTimeoutMs, spool: spoolOptions } = resolveNodeOptions(options);
    const { writeKey, batchUrl } = resolved;
    const spool =
      spoolOptions && !resolved.stub ? lazySpool({ ...spoolOptions, writeKey, batchUrl }) : undefined;
    const engine = createEngine(resolved, nodePlatform(environment), spool);
    this.#engine = engine;
    this.#unwatch = watchProcessEnd({
      get held() {
        return engine.held;
      },
      flushWithin: (timeoutMs) => engine.flushWithin(timeoutMs),
      exitFlushTimeoutMs,
      flushesOnSignals: flushOnSignals,
      endNow: () => engine.endNow(spool?.appendNow),
    });
  }

  /** Sets traits of a user. Needs a `userId` or an `anonymousId`. */
  readonly identify = (call: IdentifyCall<Plan>): Receipt => this.#engine.take("identify", call);

  /** Records an event of a user. Needs an `event` and a `userId` or an `anonymousId`. */
  readonly track = (call: TrackCall<Plan>): Receipt => this.#engine.take("track", call);

  /** Records a page view: `page({...})`, `page("Home", {userId})` or `page("Docs", "Home", {userId})`. */
  readonly page: View<Plan, "page", Receipt> = (...args: unknown[]): Receipt =>
    this.#engine.take("page", viewArguments(args));

  /** Records a screen view in an app. Takes the same arguments as `page`. */
  readonly screen: View<Plan, "screen", Receipt> = (...args: unknown[]): Receipt =>
    this.#engine.take("screen", viewArguments(args));

  /** Adds a user to a group. Needs a `groupId` and a `userId` or an `anonymousId`. */
  readonly group = (call: GroupCall<Plan>): Receipt => this.#engine.take("group", call);

  /** Joins two ids of the same user. Needs a `userId` and a `previousId`. */
  readonly alias = (call: AliasCall): Receipt => this.#engine.take("alias", call);

  /**
   * Sends everything that is queued. Resolves when all of it is delivered or given up, and never rejects. A pending flush keeps the
   * process alive.
   *
   * @returns How the messages ended that were queued or in flight at the call.
   */
  readonly flush = (): Promise<FlushResult> => this.#engine.flush();

  /**
   * Refuses further messages, sends everything that is queued, and closes the connections. Never rejects. A second call waits for the first
   * one and has the same result.
   *
   * @param options.timeoutMs After this many milliseconds, messages that are left are given up and reported to `onError`. Default: 60_000.
   * @returns How the messages ended that were queued or in flight at the call.
   */
  readonly close = async (options?: { timeoutMs?: number | undefined }): Promise<FlushResult> => {
    const result = await this.#engine.close(deadlineOf(options));
    this.#unwatch();
    return result;
  };

  /** Counters since the client was created: delivered, failed, refused, and queued (in flight included). */
  readonly stats = (): Stats => this.#engine.stats();

  /**
   * Calls `listener` for each event `delivered`, `failed`, `refused` or `request`. Errors thrown by it are swallowed.
   *
   * @returns An unsubscribe function.
   * @example
   * const stop = analytics.on("request", ({ status, durationMs }) => histogram.record(durationMs, { status }));
   */
  readonly on = <Name extends keyof AnalyticsEvents>(
    name: Name,
    listener: (event: AnalyticsEvents[Name]) => unknown,
  ): (() => void) => this.#engine.on(name, listener);

  /** `await using analytics = new Analytics(…)` closes it at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function withFetch(options: NodeAnalyticsOptions): NodeAnalyticsOptions {
  if (options?.fetch === undefined) return options;
  if (typeof options.fetch !== "function")
    throw new ConfigError("fetch", "must be a function", options.fetch);
  if (options.transport !== undefined) {
    throw new ConfigError("fetch", "is shorthand for a `transport`: give one of the two", options.fetch);
  }
  return { ...options, transport: fetchTransport(options.fetch) };
}

/** `close()` does not throw: an invalid duration is replaced by the default. */
function deadlineOf(options: { timeoutMs?: unknown } | null | undefined): number {
  const timeoutMs = options?.timeoutMs;
  return typeof timeoutMs === "number" && timeoutMs >= 0 ? timeoutMs : NODE_DEFAULTS.closeTimeoutMs;
}
