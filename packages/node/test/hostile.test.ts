import * as core from "@sluice/core";
import { fakeCollector, memoryTransport } from "@sluice/testing";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
// @boundaries-ignore test values that no package publishes
import { hostileValue } from "../../core/test/doubles/hostile-values.js";
import * as compat from "../src/compat/index.js";
import * as edge from "../src/edge.js";
import { Analytics, ConfigError, fetchTransport, fromSnakeCase, undiciTransport } from "../src/index.js";

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown): void => {
  unhandled.push(reason);
};
beforeEach(() => {
  process.on("unhandledRejection", onUnhandled);
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  process.off("unhandledRejection", onUnhandled);
  vi.restoreAllMocks();
});

const RUNS = { numRuns: Number(process.env.SLUICE_PROPERTY_RUNS ?? 300) };
const values = fc.array(hostileValue, { maxLength: 3 });
type AnyFunction = (...args: unknown[]) => unknown;

const OPTIONS = [
  ...["flushAt", "host", "regions", "transport", "fetch", "spool", "context", "onError", "gzip", "quiet"],
  ...["beforeSend", "waitUntil", "disable", "instrument", "integrations"],
  // Of the client of compat.
  ...["httpClient", "maxTotalBackoffDuration"],
];
const hostileOptions = fc.oneof(
  hostileValue,
  fc
    .dictionary(fc.constantFrom(...OPTIONS), hostileValue)
    .map((fields) => () => Object.fromEntries(Object.entries(fields).map(([name, make]) => [name, make()]))),
);

/** Lets rejections that nobody handles surface. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Fails with what `make` threw, unless it is a `ConfigError`. */
function onlyConfigError<Result>(make: () => Result): Result | undefined {
  try {
    return make();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toMatch(/^Option `/);
    return undefined;
  }
}

/** Each client, and how it is made from options. */
const CLIENTS: readonly (readonly [name: string, create: (options?: unknown) => object])[] = [
  ["Analytics", (options) => new Analytics(options as never)],
  ["Analytics of the edge build", (options) => new edge.Analytics(options as never)],
  ["compat's Analytics of Segment", (options) => new compat.Analytics(options as never)],
];

describe.each(CLIENTS)("%s", (_name, create) => {
  it("has no method that throws or rejects, whatever its arguments are", async () => {
    const methods = methodsOf(create({ writeKey: "k", stub: true }));
    expect(methods).toEqual(expect.arrayContaining(["identify", "alias", "flush"]));
    const calls = fc.array(fc.tuple(fc.constantFrom(...methods), fc.string(), values), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(calls, async (steps) => {
        const client = create({ writeKey: "k", stub: true }) as { [name: string]: AnyFunction };
        for (const [name, text, makers] of steps) {
          const args = makers.map((make) => make());
          await client[name]?.(...args);
          // The short forms of page and screen begin with a name.
          await client[name]?.(text, ...args);
        }
        await (client.close ?? client.closeAndFlush)?.call(client);
        if (client.stats) expect(client.stats()).toMatchObject({ failed: 0, queued: 0 });
        await nextTurn();
      }),
      RUNS,
    );
    expect(unhandled).toEqual([]);
  });

  it("has a constructor that throws nothing but ConfigError", async () => {
    await fc.assert(
      fc.asyncProperty(hostileOptions, async (make) => {
        const given = make();
        onlyConfigError(() => create(given));
        const client = onlyConfigError(() => create(withKey(given))) as { [name: string]: AnyFunction };
        client?.identify?.({ userId: "u" });
        await (client?.close ?? client?.closeAndFlush)?.call(client, { timeoutMs: 0, timeout: 0 });
      }),
      RUNS,
    );
    await nextTurn();
    expect(unhandled).toEqual([]);
  });
});

/** The methods of an object, its own and those of its class. What the function of `withContext` throws is the application's own. */
function methodsOf(client: object): string[] {
  const names = [...Object.keys(client), ...Object.getOwnPropertyNames(Object.getPrototypeOf(client))];
  return names.filter(
    (name) =>
      typeof (client as { [name: string]: unknown })[name] === "function" &&
      !["constructor", "withContext"].includes(name),
  );
}

it("a client can be printed as JSON, as loggers do", () => {
  expect(JSON.stringify({ analytics: new Analytics({ writeKey: "k", stub: true }) })).toBe(
    '{"analytics":{}}',
  );
});

it("no method of an engine throws or rejects, whatever its arguments are", async () => {
  const platform: core.Platform = {
    clock: core.backgroundClock,
    defer: (task) => {
      setImmediate(task);
    },
    hold: () => () => {},
    newMessageId: () => "id",
    gzip: async () => new Uint8Array(),
    defaultTransport: () => memoryTransport(fakeCollector({ writeKey: "k" })),
    newContextStorage: () => ({ get: () => undefined, run: (_, work) => work() }),
    warn: () => {},
    debug: () => {},
    userAgent: "test/1",
  };
  const names = ["take", "ready", "flush", "flushWithin", "close", "setEnabled", "stats", "on", "endNow"];
  const calls = fc.array(fc.tuple(fc.constantFrom(...names), values), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(calls, async (steps) => {
      const engine = core.createEngine(core.resolveOptions({ writeKey: "k" }), platform);
      const methods = engine as unknown as { [name: string]: AnyFunction };
      for (const [name, makers] of steps) {
        engine.take("track", { userId: "u", event: "E" });
        await methods[name]?.(...makers.map((make) => make()));
      }
      await engine.close(1_000);
      expect(engine.held === 0 || engine.stats().queued === 0).toBe(true);
      await nextTurn();
    }),
    RUNS,
  );
  expect(unhandled).toEqual([]);
});

it("withContext runs its function and returns its result, whatever the context is", () => {
  fc.assert(
    fc.property(hostileValue, (make) => {
      const client = new Analytics({ writeKey: "k", stub: true });
      expect(client.withContext(make() as never, () => 5)).toBe(5);
      client.withContext(make() as never, () => client.track({ userId: "u", event: "E" }));
      expect(client.withContext({}, undefined as never)).toBe(undefined);
    }),
    RUNS,
  );
});

it("a call with unreadable fields is refused and counted", async () => {
  const analytics = new Analytics({ writeKey: "k", stub: true });
  const fields = {
    get userId(): string {
      throw new Error("getter");
    },
  };
  for (const receipt of [
    analytics.page("Home", fields),
    analytics.screen("Docs", "Home", fields),
    analytics.track(
      fromSnakeCase({
        ...{ event: "E" },
        get user_id(): string {
          throw new Error("getter");
        },
      } as never),
    ),
    analytics.page(fields),
  ])
    expect(receipt).toMatchObject({ accepted: false, reason: "not_serializable" });
  expect(analytics.stats()).toMatchObject({ refused: 4 });
  await analytics.close();
});

it("close() with an unreadable argument closes the client", async () => {
  const analytics = new Analytics({ writeKey: "k", stub: true });
  const options = {
    get timeoutMs(): number {
      throw new Error("getter");
    },
  };
  expect(await analytics.close(options)).toEqual({ delivered: 0, failed: 0, refused: 0 });
  expect(analytics.track({ userId: "u", event: "E" })).toMatchObject({ reason: "closed" });
});

it("functions that read options throw nothing but ConfigError", () => {
  fc.assert(
    fc.property(hostileOptions, (make) => {
      onlyConfigError(() => core.resolveOptions(make() as never));
      onlyConfigError(() => undiciTransport(make() as never));
      onlyConfigError(() => edge.undiciTransport(make() as never));
    }),
    RUNS,
  );
});

/** The options with a write key, if they can have one. */
function withKey(given: unknown): unknown {
  try {
    return Object.defineProperty(given, "writeKey", { value: "k" });
  } catch {
    return given;
  }
}

it("functions around the client throw nothing", async () => {
  await fc.assert(
    fc.asyncProperty(hostileValue, hostileValue, async (makeOne, makeOther) => {
      const [one, other] = [makeOne(), makeOther()];
      fromSnakeCase(one as never);
      core.viewArguments([one, other]);
      core.reasonOf(one);
      core.contained(one as never, other as never);
      const signal = new AbortController().signal;
      for (const transport of [
        memoryTransport(fakeCollector()),
        fetchTransport(one as never),
        fetchTransport(async () => one as never),
        undiciTransport(),
      ]) {
        const outcome = await transport.send(other as never, signal);
        expect(outcome.kind).toBe("failed");
      }
    }),
    RUNS,
  );
  await nextTurn();
  expect(unhandled).toEqual([]);
});

it("a transport, a listener and an instrument may return anything", async () => {
  await fc.assert(
    fc.asyncProperty(hostileValue, async (make) => {
      const value = make();
      const client = new Analytics({
        writeKey: "k",
        maxRetries: 0,
        flushAt: 1,
        transport: { send: (async () => value) as never, close: () => value as never },
        instrument: () => value as never,
        onError: () => value,
      });
      client.on("failed", () => value);
      client.track({ userId: "u", event: "E" });
      client.track(value as never);
      const { delivered, failed } = await client.close();
      expect(delivered + failed).toBeGreaterThanOrEqual(1);
    }),
    { numRuns: 100 },
  );
  await nextTurn();
  expect(unhandled).toEqual([]);
});
