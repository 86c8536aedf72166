import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Transport } from "../src/index.js";
import { testEngine } from "./doubles/test-engine.js";

const KINDS = ["identify", "track", "page", "screen", "group", "alias"] as const;

/** Values that break code which reads them carelessly. */
const hostile: readonly (readonly [string, () => unknown])[] = [
  [
    "a cycle",
    () => {
      const value: Record<string, unknown> = {};
      value.self = value;
      return value;
    },
  ],
  [
    "a throwing getter",
    () => ({
      get bomb() {
        throw new Error("getter");
      },
    }),
  ],
  [
    "a throwing toJSON",
    () => ({
      toJSON() {
        throw new Error("toJSON");
      },
    }),
  ],
  [
    "a getter that throws undefined",
    () => ({
      get bomb() {
        throw undefined;
      },
    }),
  ],
  ["a toJSON that returns undefined", () => ({ toJSON: () => undefined })],
  [
    "a toJSON that returns itself",
    () => {
      const value = { toJSON: () => value };
      return value;
    },
  ],
  [
    "a revoked proxy",
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    },
  ],
  [
    "a proxy whose traps all throw",
    () =>
      new Proxy(
        {},
        new Proxy(
          {},
          {
            get() {
              throw new Error("trap");
            },
          },
        ),
      ),
  ],
  ["an object without a prototype", () => Object.assign(Object.create(null), { userId: "u", event: "E" })],
  ["a symbol", () => Symbol("s")],
  ["a BigInt", () => 1n],
  ["a function", () => () => {}],
  ["a class", () => class {}],
  ["a Map", () => new Map([["a", 1]])],
  ["an ArrayBuffer", () => new ArrayBuffer(8)],
  [
    "an object nested 20,000 deep",
    () => {
      let value: unknown = 1;
      for (let i = 0; i < 20_000; i++) value = [value];
      return value;
    },
  ],
  ["an invalid Date", () => new Date(Number.NaN)],
  [
    "a Date whose toJSON throws",
    () =>
      Object.assign(new Date(0), {
        toJSON() {
          throw new Error("no");
        },
      }),
  ],
  [
    "a decimal look-alike whose toString throws",
    () => ({
      s: 1,
      e: 0,
      c: [1],
      toFixed() {},
      toString() {
        throw new Error("no");
      },
    }),
  ],
  [
    "a decimal look-alike without toString",
    () => Object.assign(Object.create(null), { s: 1, e: 0, d: [1], toFixed() {} }),
  ],
  [
    "an object whose then throws",
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: the test needs a hostile thenable.
      get then() {
        throw new Error("then");
      },
    }),
  ],
  ["lone surrogates", () => "\ud800\udc00\ud800"],
  ["4 MB of text", () => "x".repeat(4_000_000)],
  ["negative zero", () => -0],
];

describe("with any arguments", () => {
  const fields = [
    "",
    "userId",
    "event",
    "properties",
    "traits",
    "context",
    "integrations",
    "timestamp",
    "messageId",
    "name",
    "category",
    "groupId",
    "previousId",
    "x",
  ];

  it.each(hostile)("%s: no call throws, and every body is valid JSON", async (_name, make) => {
    const { engine, transport, runDue } = testEngine(
      { flushAt: 1_000, context: { app: "a" } },
      { script: [200] },
    );
    let calls = 0;
    for (const kind of KINDS) {
      for (const field of fields) {
        const base = { userId: "u", event: "E", groupId: "g", previousId: "p" };
        const receipt = engine.take(
          kind,
          field === "" ? make() : Object.defineProperty(base, field, { value: make(), enumerable: true }),
        );
        calls += 1;
        expect(typeof receipt.messageId).toBe("string");
      }
    }
    await engine.flush();
    await runDue();
    const { delivered, refused, failed, queued } = engine.stats();
    expect(delivered + refused).toBe(calls);
    expect([failed, queued]).toEqual([0, 0]);
    // The scripted transport parses every body, so invalid JSON would have thrown.
    expect(transport.requests.flatMap(({ messageIds }) => messageIds)).toHaveLength(delivered);
  });

  it("random values: no call throws, and each call is counted", async () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
      withSparseArray: true,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...KINDS), anything), { maxLength: 30 }),
        async (calls) => {
          const { engine } = testEngine({}, { script: [200] });
          for (const [kind, input] of calls) {
            const receipt = engine.take(kind, input);
            if (receipt.accepted) expect(receipt.messageId.length).toBeGreaterThan(0);
          }
          await engine.flush();
          const { delivered, refused } = engine.stats();
          expect(delivered + refused).toBe(calls.length);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("a field whose value changes with every read is read once", async () => {
    let reads = 0;
    const { engine, transport, runDue } = testEngine();
    engine.take("track", {
      event: "E",
      get userId() {
        reads += 1;
        return reads === 1 ? "u" : { not: "a string" };
      },
    });
    void engine.flush();
    await runDue();
    expect(JSON.parse(String(transport.requests[0]?.request.body))).toMatchObject({
      batch: [{ userId: "u" }],
    });
  });
});

describe("with a broken transport", () => {
  const transports: readonly (readonly [string, Transport["send"]])[] = [
    [
      "throws",
      () => {
        throw new Error("sync");
      },
    ],
    [
      "throws undefined",
      () => {
        throw undefined;
      },
    ],
    ["rejects", () => Promise.reject(new Error("async"))],
    ["rejects with undefined", () => Promise.reject(undefined)],
    ["ignores its signal and never answers", () => new Promise(() => {})],
    ["returns undefined", async () => undefined as never],
    ["returns null", async () => null as never],
    ["returns no promise", () => 5 as never],
    ["returns an invalid status", async () => ({ kind: "answered", status: "200", body: "" }) as never],
    ["fails without a reason", async () => ({ kind: "failed" }) as never],
    ["returns NaN as the status", async () => ({ kind: "answered", status: Number.NaN, body: "" })],
  ];

  it.each(transports)("that %s: flush ends, and the loss is reported once", async (_name, send) => {
    const { engine, track, clock, errors, runDue } = testEngine({
      transport: { send },
      maxRetries: 1,
      requestTimeoutMs: 100,
    });
    track(3);
    const flushed = engine.flush();
    await clock.advance(1_000);
    await runDue();
    expect(await flushed).toEqual({ delivered: 0, failed: 3, refused: 0 });
    expect(errors.flatMap(({ detail }) => detail.messages)).toHaveLength(3);
  });

  it("an answer that comes after the timeout of its attempt is not counted", async () => {
    const { engine, track, transport, clock, runDue } = testEngine({ requestTimeoutMs: 100, maxRetries: 0 });
    track(1);
    const flushed = engine.flush();
    await runDue();
    await clock.advance(100);
    transport.requests[0]?.answer(200);
    await runDue();
    expect(await flushed).toEqual({ delivered: 0, failed: 1, refused: 0 });
    expect(engine.stats()).toEqual({
      delivered: 0,
      failed: 1,
      refused: 0,
      queued: 0,
      queuedBytes: 0,
      peakQueued: 1,
      peakQueuedBytes: expect.any(Number),
    });
  });
});

describe("on a difficult machine", () => {
  it("setting the clock back by a day delays no flush", async () => {
    const { track, transport, clock } = testEngine({}, { script: [200] });
    clock.jump(-86_400_000);
    track(1);
    await clock.advance(5_000);
    expect(transport.requests).toHaveLength(1);
  });

  it("setting the clock back by a day does not prolong the wait of a 429", async () => {
    const { engine, track, transport, clock, runDue } = testEngine(
      { maxInFlight: 2, batchSize: 1 },
      { script: [{ status: 429, retryAfter: "5" }, 200] },
    );
    track(1);
    void engine.flush();
    await runDue();
    clock.jump(-86_400_000);
    track(1);
    void engine.flush();
    await clock.advance(5_000);
    expect(transport.requests).toHaveLength(3);
  });

  it("a runtime without gzip sends uncompressed bodies", async () => {
    const { engine, track, transport } = testEngine({ gzip: true }, { script: [200] });
    track(1);
    expect(await engine.flush()).toMatchObject({ delivered: 1 });
    expect(transport.requests[0]?.request.headers).not.toHaveProperty("content-encoding");
  });

  it("a runtime without AbortSignal.any backs off as usual", async () => {
    const any = AbortSignal.any;
    try {
      Reflect.deleteProperty(AbortSignal, "any");
      const { engine, track, transport, clock, runDue } = testEngine({}, { script: [503, 200] });
      track(1);
      void engine.flush();
      await runDue();
      await clock.advance(89);
      expect(transport.requests).toHaveLength(1);
      await clock.advance(1);
      expect(transport.requests).toHaveLength(2);
    } finally {
      AbortSignal.any = any;
    }
  });

  it("invalid headers fail the batch, not the application", async () => {
    const { engine, track, errors, clock } = testEngine({
      instrument: () => {
        throw new Error("instrument");
      },
      transport: {
        send: () => {
          throw new TypeError("invalid header");
        },
      },
      maxRetries: 0,
    });
    track(1);
    const flushed = engine.flush();
    await clock.advance(1_000);
    expect(await flushed).toMatchObject({ failed: 1 });
    expect(errors[0]?.message).toContain("invalid header");
  });
});

describe("in any order of events", () => {
  it("every message ends in exactly one counter, every flush resolves, and nothing is left", async () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ track: fc.integer({ min: 1, max: 30 }) }) },
      { weight: 3, arbitrary: fc.record({ answer: fc.constantFrom(200, 200, 200, 400, 413, 429, 503) }) },
      { weight: 2, arbitrary: fc.constant({ fail: true }) },
      { weight: 2, arbitrary: fc.record({ advance: fc.integer({ min: 0, max: 20_000 }) }) },
      { weight: 2, arbitrary: fc.constant({ flush: true }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.record({
          flushPolicy: fc.constantFrom("batched", "eager"),
          flushAt: fc.constantFrom(1, 3, 20),
          batchSize: fc.constantFrom(1, 7, 100),
          maxInFlight: fc.constantFrom(1, 3),
          maxQueueSize: fc.constantFrom(10, 1_000),
          maxRetries: fc.constantFrom(0, 2),
        }),
        async (steps, options) => {
          const { engine, track, transport, clock, errors, runDue } = testEngine(options as object);
          let offered = 0;
          let answered = 0;
          const flushes: Promise<unknown>[] = [];
          for (const one of steps) {
            if ("track" in one) {
              offered += one.track;
              track(one.track);
            } else if ("answer" in one) transport.requests[answered++]?.answer(one.answer);
            else if ("fail" in one) transport.requests[answered++]?.fail("reset");
            else if ("advance" in one) await clock.advance(one.advance);
            else flushes.push(engine.flush());
            await runDue();
            const { delivered, failed, refused, queued } = engine.stats();
            expect(delivered + failed + refused + queued).toBe(offered);
          }
          const closed = engine.close(1_000);
          await clock.advance(1_000);
          await closed;
          await Promise.all(flushes);
          await runDue();
          const { delivered, failed, refused, queued } = engine.stats();
          expect([delivered + failed + refused, queued]).toEqual([offered, 0]);
          expect(clock.pending).toBe(0);
          const told = errors.flatMap(({ detail }) => detail.messages.map(({ messageId }) => messageId));
          expect(told).toHaveLength(failed + refused);
          expect(new Set(told).size).toBe(told.length);
        },
      ),
      { numRuns: 80 },
    );
  });
});
