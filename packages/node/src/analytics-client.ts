import {
  type AliasCall,
  type AnalyticsEvents,
  type CallContext,
  type CallOptions,
  ConfigError,
  type ContextCalls,
  contained,
  createEngine,
  type Engine,
  type FlushResult,
  fetchTransport,
  type GroupCall,
  type IdentifyCall,
  type Receipt,
  readOptions,
  resolveOptions,
  type Stats,
  type TrackCall,
  type TrackingPlan,
  type View,
  viewArguments,
  viewOptions,
} from "@sluice/core";
import { NODE_DEFAULTS, type NodeAnalyticsOptions, resolveNodeOptions } from "./options.js";

import type { Runtime } from "./platform/runtime.js";
import {
  type Advise,
  adviseOnCallback,
  adviseOnEvent,
  adviseOnOptions,
  usageAdvice,
} from "./usage-advice.js";

const VARIABLES = ["DEBUG", "SLUICE_URL", "SLUICE_WRITE_KEY", "SLUICE_OREGON_URL", "SLUICE_DUBLIN_URL"];

/** The environment variables that the SDK reads, if the runtime has them and allows it: Deno needs a permission. */
function environmentVariables(): Readonly<Record<string, string | undefined>> {
  const found: Record<string, string | undefined> = {};
  for (const name of VARIABLES) {
    try {
      found[name] = process.env[name];
    } catch {
      // The runtime has no environment variables, or does not allow reading them.
    }
  }
  return found;
}

/** No plan: every name and every shape is allowed. */
// biome-ignore lint/complexity/noBannedTypes: a plan that names nothing is an object type without keys.
export type NoPlan = {};

/** The client of every runtime. Applications use `Analytics`, which chooses the runtime. */
export abstract class AnalyticsClient<Plan extends TrackingPlan = NoPlan> {
  readonly #engine: Engine;
  readonly #unwatch: () => void;
  readonly #advise: Advise;

  protected constructor(options: NodeAnalyticsOptions, runtime: Runtime) {
    const environment = environmentVariables();
    const resolved = readOptions(() => resolveOptions(withFetch(options), environment));
    const {
      flushOnSignals,
      exitFlushTimeoutMs,
      spool: spoolOptions,
    } = readOptions(() => resolveNodeOptions(options));
    readOptions(() => runtime.checkOptions(options));
    const { writeKey, batchUrl } = resolved;
    const spool =
      spoolOptions && !resolved.stub
        ? runtime.openSpool?.({ ...spoolOptions, writeKey, batchUrl })
        : undefined;
    const engine = createEngine(resolved, runtime.platform(environment), spool);
    this.#engine = engine;
    this.#advise = usageAdvice(resolved.quiet);
    contained(adviseOnOptions, options, this.#advise);
    this.#unwatch = runtime.watchEnd({
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
  readonly identify = (call: IdentifyCall<Plan>, options?: CallOptions): Receipt =>
    this.#take("identify", call, options);

  /** Records an event of a user. Needs an `event` and a `userId` or an `anonymousId`. */
  readonly track = (call: TrackCall<Plan>, options?: CallOptions): Receipt =>
    this.#take("track", call, options);

  /** Records a page view: `page({...})`, `page("Home", {userId})` or `page("Docs", "Home", {userId})`. */
  readonly page: View<Plan, "page", Receipt> = (...args: unknown[]): Receipt =>
    this.#take("page", viewArguments(args), viewOptions(args));

  /** Records a screen view in an app. Takes the same arguments as `page`. */
  readonly screen: View<Plan, "screen", Receipt> = (...args: unknown[]): Receipt =>
    this.#take("screen", viewArguments(args), viewOptions(args));

  /** Adds a user to a group. Needs a `groupId` and a `userId` or an `anonymousId`. */
  readonly group = (call: GroupCall<Plan>, options?: CallOptions): Receipt =>
    this.#take("group", call, options);

  /** Joins two ids of the same user. Needs a `userId` and a `previousId`. */
  readonly alias = (call: AliasCall<Plan>, options?: CallOptions): Receipt =>
    this.#take("alias", call, options);

  /**
   * Resolves while the queue has room: at once, or when there is room again. Await it before each call of a loop, and nothing is refused
   * because the queue is full. Never rejects. Resolves when the client is closed or turned off. While it is pending, it keeps the process alive.
   *
   * @example
   * for await (const row of rows) {
   *   await analytics.ready();
   *   analytics.track({ userId: row.userId, event: "Order Completed", timestamp: row.at });
   * }
   */
  readonly ready = (): Promise<void> => this.#engine.ready();

  /**
   * Sends everything that is queued. Resolves when all of it is delivered or given up, and never rejects. A pending flush keeps the
   * process alive.
   *
   * @param options.timeoutMs Resolves after this many milliseconds at the latest. What is left then stays queued, and is counted as
   * `queued`. Default: no limit.
   * @returns How the messages ended that were queued or in flight at the call.
   */
  readonly flush = (options?: { timeoutMs?: number | undefined }): Promise<FlushResult> =>
    this.#engine.flush(durationOf(options));

  /**
   * Refuses further messages, sends everything that is queued, and closes the connections. Never rejects. A second call waits for the first
   * one and has the same result.
   *
   * @param options.timeoutMs After this many milliseconds, messages that are left are given up and reported to `onError`. Default: 60_000.
   * @returns How the messages ended that were queued or in flight at the call, and what was refused since the client was created.
   */
  readonly close = async (options?: { timeoutMs?: number | undefined }): Promise<FlushResult> => {
    const result = await this.#engine.close(durationOf(options) ?? NODE_DEFAULTS.closeTimeoutMs);
    this.#unwatch();
    return result;
  };

  /**
   * Turns the client off or on, for example when a user withdraws consent. While it is off, calls are withheld: they are counted as
   * `disabled`, and are neither queued nor refused. Only `true` turns it on.
   *
   * @param options.discardQueued Also gives up the messages that are queued, in memory and in the spool. Default: `false`, they are sent.
   */
  readonly setEnabled = (isEnabled: boolean, options?: { discardQueued?: boolean | undefined }): void =>
    this.#engine.setEnabled(isEnabled === true, contained(() => options?.discardQueued) === true);

  /**
   * Runs `work`. Calls within it, also after an `await`, get the ids and the context, unless they have their own. Contexts nest.
   *
   * @returns What `work` returns. It throws only what `work` throws.
   * @example
   * app.use((request, response, next) => analytics.withContext({ userId: request.user.id }, next));
   */
  readonly withContext = <Result>(context: CallContext, work: () => Result): Result =>
    this.#engine.withContext(context, work);

  /** This client, typed for code that runs within `withContext`: its calls need no id of their own. */
  get inContext(): ContextCalls<Plan, Receipt> {
    // Not a field: a logger that prints the client as JSON would find a cycle.
    return this as never;
  }

  /** Counters since the client was created: delivered, failed, refused, queued (in flight included), and the most that was queued. */
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
  ): (() => void) => {
    adviseOnEvent(name, this.#advise);
    return this.#engine.on(name, listener);
  };

  /**
   * Segment's name of `close`.
   *
   * @deprecated Use `close({ timeoutMs })`.
   */
  readonly closeAndFlush = (options?: { timeout?: number | undefined }): Promise<FlushResult> => {
    this.#advise("closeAndFlush", "closeAndFlush() is Segment's name: use close({ timeoutMs }).");
    return this.close({ timeoutMs: contained(() => options?.timeout) as number | undefined });
  };

  #take(kind: Parameters<Engine["take"]>[0], call: unknown, options: unknown): Receipt {
    if (options !== undefined) adviseOnCallback(kind, options, this.#advise);
    return this.#engine.take(kind, call, options);
  }

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

/** `flush()` and `close()` do not throw: a duration that is invalid or cannot be read is ignored. */
function durationOf(options: { timeoutMs?: unknown } | null | undefined): number | undefined {
  try {
    const timeoutMs = options?.timeoutMs;
    return typeof timeoutMs === "number" && timeoutMs >= 0 ? timeoutMs : undefined;
  } catch {
    // A getter or a proxy of the caller threw.
    return undefined;
  }
}
