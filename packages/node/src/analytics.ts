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
// biome-ignore lint/complexity/noBannedTypes: an object type without keys is what "names nothing" means here.
type NoPlan = {};

/**
 * A client: takes messages without making you wait, and sends them in batches.
 *
 * Only the constructor throws (`ConfigError`). No call throws or rejects, whatever it is given and whatever the server does;
 * what is lost is told to `onError`. Its methods can be passed on without their object.
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
      flushWithin: engine.flushWithin,
      exitFlushTimeoutMs,
      flushesOnSignals: flushOnSignals,
      endNow: () => engine.endNow(spool?.appendNow),
    });
  }

  /** Says who a user is. Needs a `userId` or an `anonymousId`. */
  readonly identify = (call: IdentifyCall<Plan>): Receipt => this.#engine.take("identify", call);

  /** Says what a user did. Needs an `event` and a `userId` or an `anonymousId`. */
  readonly track = (call: TrackCall<Plan>): Receipt => this.#engine.take("track", call);

  /** Says which page a user saw: `page({...})`, `page("Home", {userId})` or `page("Docs", "Home", {userId})`. */
  readonly page: View<Plan, "page", Receipt> = (...args: unknown[]): Receipt =>
    this.#engine.take("page", viewArguments(args));

  /** Says which screen of an app a user saw; the forms of `page`. */
  readonly screen: View<Plan, "screen", Receipt> = (...args: unknown[]): Receipt =>
    this.#engine.take("screen", viewArguments(args));

  /** Says which group a user belongs to. Needs a `groupId` and a `userId` or an `anonymousId`. */
  readonly group = (call: GroupCall<Plan>): Receipt => this.#engine.take("group", call);

  /** Says that two ids are one user. Needs a `userId` and a `previousId`. */
  readonly alias = (call: AliasCall): Receipt => this.#engine.take("alias", call);

  /**
   * Sends all that is queued now; resolves when it is delivered or given up, and never rejects. While it is pending the
   * process stays alive.
   *
   * @returns What became of the messages that were queued or in flight at the call.
   */
  readonly flush = (): Promise<FlushResult> => this.#engine.flush();

  /**
   * Takes no further messages, sends what is queued, releases the sockets. Never rejects. A second call answers the first's promise.
   *
   * @param options.timeoutMs After this many milliseconds what remains is given up and told to `onError`. Default: 60_000.
   * @returns What became of the messages that were queued or in flight at the call.
   */
  readonly close = async (options?: { timeoutMs?: number | undefined }): Promise<FlushResult> => {
    const result = await this.#engine.close(deadlineOf(options));
    this.#unwatch();
    return result;
  };

  /** Counters since the client was made: delivered, failed, refused, queued (in flight included). */
  readonly stats = (): Stats => this.#engine.stats();

  /**
   * Calls `listener` at each `delivered`, `failed`, `refused` or `request`. What it throws is contained.
   *
   * @returns A function that takes the listener away.
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

/** `close()` does not throw: what is no duration is the default. */
function deadlineOf(options: { timeoutMs?: unknown } | null | undefined): number {
  const timeoutMs = options?.timeoutMs;
  return typeof timeoutMs === "number" && timeoutMs >= 0 ? timeoutMs : NODE_DEFAULTS.closeTimeoutMs;
}
