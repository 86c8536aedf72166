/**
 * For tests of code that uses the collector: a complete collector in this process, with a clock that the test advances and scripted
 * webhooks. Four hours of retries take milliseconds.
 *
 * ```ts
 * await using collector = await startTestCollector();
 * const url = "https://hooks.example/orders";
 * await collector.connect({ webhooks: [{ url }] });
 * collector.webhooks.script(url, 503);
 * await collector.send({ type: "track", event: "Ordered", userId: "u1", messageId: "m1" });
 * await collector.advance(4 * 60 * 60 * 1_000);
 * collector.webhooks.requests; // every attempt, with its time
 * ```
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "@sluice/event-log";
import { openMemoryStore } from "@sluice/event-log";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { startCollector } from "./collector.js";
import type { CollectorOptions } from "./collector-options.js";
import { createLogger } from "./process/telemetry/logger.js";

import { type ScriptedWebhooks, scriptedWebhooks } from "./testing/scripted-webhooks.js";

/** How many turns of the event loop a message takes at most between two waits: store, settlement, lease, request. */
const TURNS = 24;

/**
 * Advances the clock from timer to timer, and runs the event loop after each until its work is done. (`clock.advance` alone gives each
 * timer one turn, and continues before its work is done.)
 */
export async function advanceClock(clock: ManualClock, ms: number): Promise<void> {
  const untilMs = clock.monotonic() + ms;
  for (;;) {
    for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
    const { nextDueMs } = clock;
    if (nextDueMs === undefined || nextDueMs > untilMs) break;
    await clock.advance(Math.max(0, nextDueMs - clock.monotonic()));
  }
  await clock.advance(Math.max(0, untilMs - clock.monotonic()));
}

export { type ManualClock, type ManualClockOptions, manualClock } from "@sluice/resilience/testing";
export type {
  ScriptedAnswer,
  ScriptedRequest,
  ScriptedWebhooks,
  WebhookScript,
} from "./testing/scripted-webhooks.js";

export interface TestCollectorOptions
  extends Partial<Omit<CollectorOptions, "clock" | "openEndpoint" | "resolve">> {
  /** Default: a clock that starts at 2026-01-01 and whose `random()` is always 0.5. */
  readonly clock?: ManualClock;
  /**
   * Default: a store in memory. To continue where another test collector stopped, pass its `store`, `clock` and `dataDirectory`. The
   * collector does not close the store: if it holds files or threads, close it yourself.
   */
  readonly store?: Store;
}

export interface TestCollector extends AsyncDisposable {
  readonly url: string;
  /** The same as `url`, unless the option `adminListen` is given. */
  readonly adminUrl: string;
  readonly writeKey: string;
  readonly sourceId: string;
  readonly adminToken: string;
  readonly clock: ManualClock;
  readonly store: Store;
  readonly webhooks: ScriptedWebhooks;
  /** Creates a webhook destination for the source, and resolves with its id. Any public host name works. */
  connect(settings: { readonly [name: string]: unknown }): Promise<string>;
  /** Sends messages with the write key, as a client does; rejects unless the response is 200. */
  send(...messages: readonly { readonly [field: string]: unknown }[]): Promise<void>;
  /** Calls the control API; rejects unless the response is 2xx. */
  api(method: string, path: string, body?: object): Promise<unknown>;
  /** Advances the clock, and runs everything that is due on the way. */
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** In test collectors every host name has this address. They never connect to it. */
const PUBLIC_ADDRESS = { address: "198.41.0.4", family: 4 };

/** Starts a collector on a free port of the loopback interface. Close it at the end of the test. */
export async function startTestCollector(options: TestCollectorOptions = {}): Promise<TestCollector> {
  const clock = options.clock ?? manualClock();
  const store = options.store ?? openMemoryStore({ clock });
  const { openEndpoint, ...webhooks } = scriptedWebhooks(clock);
  const ownFolder = options.dataDirectory === undefined;
  const dataDirectory = options.dataDirectory ?? (await mkdtemp(join(tmpdir(), "sluice-test-")));
  const collector = await startCollector({
    mode: "dev",
    host: "127.0.0.1",
    port: 0,
    logger: createLogger({ write: () => {} }),
    ...options,
    dataDirectory,
    store: keptOpen(store),
    clock,
    openEndpoint,
    resolve: async () => [PUBLIC_ADDRESS],
  });
  const { firstRun } = collector;
  if (firstRun === undefined) {
    await collector.close(0);
    throw new TypeError("A test collector must run in mode `dev`");
  }
  const { sourceId, writeKey, adminToken } = firstRun;

  const call = httpCaller(collector.url);
  const callAdmin = httpCaller(collector.adminUrl);
  const api: TestCollector["api"] = (method, path, body) =>
    callAdmin(method, `/api/v1${path}`, `Bearer ${adminToken}`, body);
  const close = async (): Promise<void> => {
    await collector.close(0);
    if (ownFolder) await rm(dataDirectory, { recursive: true, force: true });
  };

  return {
    url: collector.url,
    adminUrl: collector.adminUrl,
    writeKey,
    sourceId,
    adminToken,
    clock,
    store,
    webhooks,
    api,
    async connect(settings) {
      const created = await api("POST", "/destinations", {
        type: "webhooks",
        sourceIds: [sourceId],
        settings,
        enabled: true,
      });
      return (created as { id: string }).id;
    },
    async send(...batch) {
      await call("POST", "/v1/batch", `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`, { batch });
    },
    advance: (ms) => advanceClock(clock, ms),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Calls the collector over HTTP with a JSON body; resolves with the parsed response, and rejects unless it is 2xx. */
function httpCaller(url: string) {
  return async (method: string, path: string, authorization: string, body?: object): Promise<unknown> => {
    const response = await fetch(new URL(path, url), {
      method,
      headers: { authorization, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
}

/** The store, for a collector that must not close it. */
function keptOpen(store: Store): Store {
  return new Proxy(store, {
    get(target, key) {
      if (key === "close") return async () => {};
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
