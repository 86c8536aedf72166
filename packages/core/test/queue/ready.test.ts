import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/index.js";
import { testEngine } from "../doubles/test-engine.js";

const call = { userId: "u", event: "E" };

/** Whether a promise has resolved after everything that is due now has run. */
async function isSettled(promise: Promise<unknown>, runDue: () => Promise<void>): Promise<boolean> {
  let settled = false;
  void promise.then(() => {
    settled = true;
  });
  await runDue();
  return settled;
}

describe("ready()", () => {
  it("resolves in the same turn while there is room", async () => {
    const { engine, holds, clock } = testEngine();
    const order: string[] = [];
    setImmediate(() => order.push("next turn"));
    await engine.ready();
    order.push("ready");
    expect(order).toEqual(["ready"]);
    expect([holds(), clock.pending]).toEqual([0, 0]);
  });

  it("resolves in the same turn for as many calls as there is room", async () => {
    const { engine } = testEngine({ maxQueueSize: 3 });
    let turns = 0;
    setImmediate(() => {
      turns += 1;
    });
    for (let i = 0; i < 3; i++) {
      await engine.ready();
      engine.take("track", call);
    }
    expect(turns).toBe(0);
  });

  it("sends nothing while there is room", async () => {
    const { engine, track, transport, runDue } = testEngine();
    track(1);
    await engine.ready();
    await runDue();
    expect(transport.requests).toHaveLength(0);
  });

  it("keeps the process alive until the last caller has gone on", async () => {
    const { engine, track, transport, holds, runDue } = testEngine({ maxQueueSize: 1, flushAt: 1 });
    track(1);
    void engine.ready().then(() => track(1));
    void engine.ready();
    await runDue();
    transport.requests[0]?.answer(200);
    await runDue();
    expect(holds()).toBe(1);
    transport.requests[1]?.answer(200);
    await runDue();
    expect(holds()).toBe(0);
  });

  it("does not let a caller in onError overtake those who wait", async () => {
    const went: string[] = [];
    const { engine, track, runDue } = testEngine(
      { maxQueueSize: 1, onError: () => void engine.ready().then(() => went.push("onError")) },
      { script: [400] },
    );
    track(1);
    void engine.ready().then(() => went.push("first"));
    await runDue();
    expect(went).toEqual(["first", "onError"]);
  });

  it("waits for room, keeps the process alive meanwhile, and keeps no timer", async () => {
    const { engine, track, transport, holds, clock, runDue } = testEngine({ maxQueueSize: 3, batchSize: 2 });
    track(3);
    const ready = engine.ready();
    expect(await isSettled(ready, runDue)).toBe(false);
    expect(holds()).toBe(1);
    transport.requests[0]?.answer(200);
    expect(await isSettled(ready, runDue)).toBe(true);
    transport.requests[1]?.answer(200);
    await runDue();
    expect([holds(), clock.pending]).toEqual([0, 0]);
  });

  it("sends what is queued although flushAt is not reached, because nothing else would make room", async () => {
    const { engine, transport, runDue } = testEngine({ maxQueueBytes: 40_000, flushAt: 100 });
    engine.take("track", { ...call, properties: { text: "x".repeat(20_000) } });
    const ready = engine.ready();
    await runDue();
    expect(transport.requests).toHaveLength(1);
    transport.requests[0]?.answer(200);
    expect(await isSettled(ready, runDue)).toBe(true);
  });

  it("sends at once what those queue who went on, because others wait for their room", async () => {
    const { engine, transport, track, runDue } = testEngine({ maxQueueSize: 3 });
    track(3);
    let last = false;
    const others = [engine.ready(), engine.ready(), engine.ready()];
    void engine.ready().then(() => {
      last = true;
    });
    await runDue();
    transport.requests[0]?.answer(200);
    await Promise.all(others);
    expect(last).toBe(false);
    track(1);
    await runDue();
    expect([transport.requests[1]?.messageIds, last]).toEqual([["m4"], true]);
  });

  it("means that a message of the largest size fits", async () => {
    const { engine, runDue } = testEngine({ maxQueueBytes: 70_000, maxQueueSize: 1_000 }, { script: [200] });
    const large = { ...call, properties: { text: "x".repeat(32_500) } };
    for (let i = 0; i < 20; i++) {
      await engine.ready();
      expect(engine.take("track", large)).toMatchObject({ accepted: true });
    }
    await runDue();
    expect(engine.stats()).toMatchObject({ refused: 0 });
    expect(engine.stats().peakQueuedBytes).toBeLessThanOrEqual(70_000);
  });

  it("lets many callers go on in the order of their calls, no more than there is room for", async () => {
    const { engine, track, transport, runDue } = testEngine({ maxQueueSize: 4, batchSize: 2, flushAt: 4 });
    track(4);
    const went: number[] = [];
    for (let i = 0; i < 6; i++) {
      void engine.ready().then(() => {
        went.push(i);
        engine.take("track", call);
      });
    }
    for (let answered = 0; answered < 3; answered++) {
      await runDue();
      expect(went).toEqual([0, 1, 2, 3, 4, 5].slice(0, answered * 2));
      transport.requests[answered]?.answer(200);
    }
    await runDue();
    expect(went).toEqual([0, 1, 2, 3, 4, 5]);
    expect(engine.stats()).toMatchObject({ refused: 0, peakQueued: 4 });
  });

  it("gives the place of a caller that makes no call to the next one", async () => {
    const { engine, track, transport, runDue } = testEngine({ maxQueueSize: 1, flushAt: 1 });
    track(1);
    const first = engine.ready();
    const second = engine.ready();
    transport.requests[0]?.answer(200);
    await runDue();
    transport.requests[0]?.answer(200);
    expect(await isSettled(Promise.all([first, second]), runDue)).toBe(true);
  });

  it.each<[name: string, end: (engine: Engine) => unknown]>([
    ["close()", (engine) => engine.close(30_000)],
    ["endNow()", (engine) => engine.endNow()],
  ])("resolves at %s, and at once from then on", async (_name, end) => {
    const { engine, track, holds, runDue } = testEngine({ maxQueueSize: 1 });
    track(1);
    const waiting = [engine.ready(), engine.ready()];
    const held = holds();
    void end(engine);
    await Promise.all([...waiting, engine.ready()]);
    await runDue();
    expect(held).toBe(1);
    expect(engine.take("track", call)).toMatchObject({ accepted: false, reason: "closed" });
  });

  it("resolves when messages are given up", async () => {
    const { engine, track, clock, runDue } = testEngine(
      { maxQueueSize: 1, flushAt: 1, maxRetries: 1 },
      { script: [503] },
    );
    track(1);
    const ready = engine.ready();
    await clock.advance(1_000);
    expect(await isSettled(ready, runDue)).toBe(true);
    expect(engine.stats()).toMatchObject({ failed: 1, queued: 0 });
  });

  it("loses nothing, however many loops send at once and whatever the bounds are", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          loops: fc.integer({ min: 1, max: 20 }),
          calls: fc.integer({ min: 1, max: 20 }),
          text: fc.constantFrom(0, 1_000, 31_000),
        }),
        fc.record({
          maxQueueSize: fc.constantFrom(1, 2, 10, 1_000),
          maxQueueBytes: fc.constantFrom(32_768, 70_000, 1_000_000),
          flushAt: fc.constantFrom(1, 7, 20),
          flushPolicy: fc.constantFrom("batched" as const, "eager" as const),
          batchSize: fc.constantFrom(1, 3, 100),
          maxInFlight: fc.constantFrom(1, 8),
        }),
        async ({ loops, calls, text }, options) => {
          const { engine, errors, transport } = testEngine(options, { script: [200] });
          const loop = async (): Promise<void> => {
            for (let i = 0; i < calls; i++) {
              await engine.ready();
              engine.take("track", { ...call, properties: { text: "x".repeat(text) } });
            }
          };
          await Promise.all(Array.from({ length: loops }, loop));
          await engine.flush();
          expect(errors).toEqual([]);
          expect(transport.requests.flatMap(({ messageIds }) => messageIds)).toHaveLength(loops * calls);
          const { peakQueued, peakQueuedBytes } = engine.stats();
          expect(peakQueued).toBeLessThanOrEqual(options.maxQueueSize);
          expect(peakQueuedBytes).toBeLessThanOrEqual(options.maxQueueBytes);
        },
      ),
      { numRuns: Number(process.env.SLUICE_PROPERTY_RUNS ?? 60) },
    );
  });
});

describe("a full queue", () => {
  it("is reported with the bound and its value", () => {
    const { engine, track, errors } = testEngine({ maxQueueSize: 2 });
    track(3);
    const big = testEngine({ maxQueueBytes: 40_000 });
    const large = { ...call, properties: { text: "x".repeat(30_000) } };
    big.engine.take("track", large);
    const receipt = big.engine.take("track", large);
    expect(receipt).toMatchObject({ accepted: false, reason: "queue_full", bound: "maxQueueBytes" });
    expect(engine.take("track", call)).toMatchObject({ reason: "queue_full", bound: "maxQueueSize" });
    expect(errors[0]).toMatchObject({ detail: { code: "queue_full", bound: "maxQueueSize" } });
    expect(errors[0]?.message).toBe(
      "The queue is full (maxQueueSize: 2 messages). Await ready() before each call, or raise maxQueueSize",
    );
    expect(big.errors[0]?.message).toContain("(maxQueueBytes: 40000 bytes of messages)");
  });

  it("shows in stats() how full it is and was", async () => {
    const { engine, track } = testEngine({}, { script: [200] });
    track(5);
    const { queuedBytes } = engine.stats();
    expect(queuedBytes).toBeGreaterThan(5 * 50);
    await engine.flush();
    expect(engine.stats()).toMatchObject({
      queued: 0,
      queuedBytes: 0,
      peakQueued: 5,
      peakQueuedBytes: queuedBytes,
    });
    track(1);
    expect(engine.stats()).toMatchObject({ queued: 1, peakQueued: 5, peakQueuedBytes: queuedBytes });
  });
});

describe("when nothing listens", () => {
  it("prints the first refusal, once", () => {
    const { engine, track, warnings } = testEngine({ onError: undefined, maxQueueSize: 1 });
    track(5);
    engine.take("track", {});
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(
      /^\[sluice\] A message was refused.*queue_full: The queue is full \(maxQueueSize: 1 /,
    );
    expect(warnings[0]).not.toContain("\n");
  });

  it("prints the first refusal of the collector", async () => {
    const body = JSON.stringify({ success: true, rejected: [{ index: 0, code: "c", message: "m" }] });
    const { engine, track, warnings } = testEngine(
      { onError: undefined },
      { script: [{ status: 200, body }] },
    );
    track(1);
    await engine.flush();
    expect(warnings).toEqual([expect.stringContaining("1 of 1 messages refused; the first: c: m")]);
  });

  it.each(["onError", "a listener"])("prints nothing if there is %s", (kind) => {
    const { engine, warnings } = testEngine(kind === "onError" ? {} : { onError: undefined });
    if (kind !== "onError") engine.on("refused", () => {});
    engine.take("track", {});
    expect(warnings).toEqual([]);
  });
});

describe("ready() of a client that is turned off", () => {
  it("resolves when the client is turned off, and at once from then on, because calls need no room", async () => {
    const { engine, track, holds, runDue } = testEngine({ maxQueueSize: 1 });
    track(1);
    const waiting = engine.ready();
    expect(await isSettled(waiting, runDue)).toBe(false);
    engine.setEnabled(false);
    expect(await isSettled(Promise.all([waiting, engine.ready()]), runDue)).toBe(true);
    expect(engine.take("track", call)).toMatchObject({ reason: "disabled" });
    engine.setEnabled(true);
    expect(await isSettled(engine.ready(), runDue)).toBe(false);
    expect(holds()).toBe(1);
  });

  it("waits for room again after setEnabled(true), also if what was queued is discarded", async () => {
    const { engine, track, runDue, transport } = testEngine({ maxQueueSize: 2, flushAt: 2 });
    track(2);
    await runDue();
    engine.setEnabled(false, true);
    engine.setEnabled(true);
    expect(await isSettled(engine.ready(), runDue)).toBe(true);
    expect(engine.take("track", call)).toMatchObject({ accepted: true });
    void engine.flush();
    await runDue();
    transport.requests.at(-1)?.answer(200);
    await runDue();
    expect(engine.stats()).toMatchObject({ delivered: 1, failed: 2, queued: 0 });
  });

  it("goes on although beforeSend drops the message of every caller before", async () => {
    const { engine, track, transport, runDue } = testEngine({
      maxQueueSize: 2,
      flushAt: 1,
      beforeSend: (message) => (message.event === "Dropped" ? null : message),
    });
    track(2);
    const loop = async (): Promise<string | undefined> => {
      await engine.ready();
      const receipt = engine.take("track", { ...call, event: "Dropped" });
      return receipt.accepted ? undefined : receipt.reason;
    };
    const loops = Promise.all(Array.from({ length: 10 }, loop));
    await runDue();
    transport.requests[0]?.answer(200);
    // One place a turn of the event loop.
    await runDue();
    expect(await isSettled(loops, runDue)).toBe(true);
    expect(await loops).toEqual(Array(10).fill("dropped"));
  });
});
