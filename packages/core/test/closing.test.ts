import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { testEngine } from "./doubles/test-engine.js";

describe("close()", () => {
  it("delivers what is queued, closes the transport, and leaves no timer", async () => {
    const { engine, track, transport, clock, runDue, holds } = testEngine({}, { script: [200] });
    track(3);
    expect(await engine.close(30_000)).toEqual({ delivered: 3, failed: 0, refused: 0 });
    await runDue();
    expect(transport.closed).toBe(true);
    expect([clock.pending, holds()]).toEqual([0, 0]);
  });

  it("counts what was refused since the start, as stats() does; flush() counts what was queued", async () => {
    const { engine, track, runDue } = testEngine({}, { script: [200, 200] });
    for (let call = 0; call < 3; call++) engine.take("track", { event: "without a user" });
    track(1);
    const flushed = engine.flush();
    await runDue();
    expect(await flushed).toEqual({ delivered: 1, failed: 0, refused: 0 });
    track(1);
    expect(await engine.close(30_000)).toEqual({ delivered: 1, failed: 0, refused: 3 });
    expect(engine.stats().refused).toBe(3);
  });

  it("refuses every call from the moment it is called", async () => {
    const { engine, track, transport, runDue, errors } = testEngine();
    track(1);
    const closed = engine.close(30_000);
    expect(engine.take("track", { userId: "u", event: "late" })).toMatchObject({
      accepted: false,
      reason: "closed",
    });
    await runDue();
    transport.requests[0]?.answer(200);
    await closed;
    expect(engine.take("track", { userId: "u", event: "later" })).toMatchObject({
      accepted: false,
      reason: "closed",
    });
    expect(errors.map(({ detail }) => detail.code)).toEqual(["closed", "closed"]);
  });

  it("returns the same promise for every call", async () => {
    const { engine, track } = testEngine({}, { script: [200] });
    track(1);
    const [first, second] = await Promise.all([engine.close(1_000), engine.close(1)]);
    expect(second).toBe(first);
  });

  it("cuts a backoff short and tries at once", async () => {
    const { engine, track, transport, clock, runDue } = testEngine(
      {},
      { script: [503, 503, 503, 503, 503, 200] },
    );
    track(1);
    void engine.flush();
    await runDue();
    await clock.advance(90 + 180 + 360 + 720);
    const before = clock.now();
    expect(transport.requests).toHaveLength(5);
    const closed = engine.close(30_000);
    await runDue();
    expect(await closed).toEqual({ delivered: 1, failed: 0, refused: 0 });
    expect(clock.now()).toBe(before);
  });

  it("does not cut short a wait that the server asked for", async () => {
    const { engine, track, transport, clock, runDue } = testEngine(
      {},
      { script: [{ status: 429, retryAfter: "5" }, 200] },
    );
    track(1);
    void engine.flush();
    await runDue();
    const closed = engine.close(30_000);
    await clock.advance(4_999);
    expect(transport.requests).toHaveLength(1);
    await clock.advance(1);
    expect(await closed).toMatchObject({ delivered: 1 });
  });

  it("gives up everything in flight and queued at the deadline, and reports each message once", async () => {
    const { engine, track, transport, clock, runDue, errors } = testEngine({ batchSize: 2 });
    track(5);
    const flushed = engine.flush();
    await runDue();
    const closed = engine.close(2_000);
    await clock.advance(1_999);
    expect(engine.held).toBe(5);
    await clock.advance(1);
    expect(await closed).toEqual({ delivered: 0, failed: 5, refused: 0 });
    expect(await flushed).toEqual({ delivered: 0, failed: 5, refused: 0 });
    expect(transport.requests).toHaveLength(1);
    expect(transport.requests[0]?.signal.aborted).toBe(true);
    expect(errors.every(({ status, detail }) => status === -1 && detail.code === "close_deadline")).toBe(
      true,
    );
    const told = errors.flatMap(({ detail }) => detail.messages.map(({ messageId }) => messageId));
    expect(told.sort()).toEqual(["m1", "m2", "m3", "m4", "m5"]);
    expect(clock.pending).toBe(0);
  });

  it("with a deadline of 0 gives up at once", async () => {
    const { engine, track, clock, errors, runDue } = testEngine();
    track(1);
    const closed = engine.close(0);
    await clock.advance(0);
    await runDue();
    expect(await closed).toEqual({ delivered: 0, failed: 1, refused: 0 });
    expect(errors).toHaveLength(1);
  });

  it("leaves what it gave up to the end of the process, if that comes first", () => {
    const manual = manualClock();
    const after: ManualClock["after"] = (ms, task) => {
      if (ms > 0) return manual.after(ms, task);
      task();
      return () => {};
    };
    const { engine, track } = testEngine({}, { clock: { ...manual, after } });
    track(1);
    void engine.close(0);
    const kept: string[] = [];
    engine.endNow((batch) => {
      kept.push(...batch.map(({ messageId }) => messageId));
      return "kept";
    });
    expect(kept).toEqual(["m1"]);
  });

  it("does not wait forever for the transport to close", async () => {
    const hanging = {
      send: async () => ({ kind: "answered" as const, status: 200, body: "" }),
      close: () => new Promise<void>(() => {}),
    };
    const { engine, track, clock, runDue } = testEngine({ transport: hanging });
    track(1);
    const closed = engine.close(30_000);
    await runDue();
    await clock.advance(1_000);
    expect(await closed).toMatchObject({ delivered: 1 });
  });
});

describe("flushWithin()", () => {
  it("gives up at the end of its time and leaves the client open", async () => {
    const { engine, track, transport, clock, runDue, errors } = testEngine();
    track(2);
    const flushed = engine.flushWithin(10_000);
    await clock.advance(10_000);
    expect(await flushed).toEqual({ delivered: 0, failed: 2, refused: 0 });
    expect(errors).toMatchObject([{ detail: { code: "exit_deadline" } }]);
    track(1);
    const again = engine.flush();
    await runDue();
    transport.requests.at(-1)?.answer(200);
    expect(await again).toEqual({ delivered: 1, failed: 0, refused: 0 });
  });
});
