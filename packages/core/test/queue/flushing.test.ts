import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { goDefaults, rubyDefaults } from "../../src/index.js";
import { ids, type TestEngine, testEngine } from "../doubles/test-engine.js";

describe("batched (the Go library's rule)", () => {
  it("sends nothing in the caller's turn", async () => {
    const { track, transport, runDue } = testEngine({ flushAt: 2 });
    track(2);
    expect(transport.requests).toHaveLength(0);
    await runDue();
    expect(transport.requests).toHaveLength(1);
  });

  it("flushes at every N messages", async () => {
    const { track, transport, runDue } = testEngine(goDefaults, { script: [200] });
    track(19);
    await runDue();
    expect(transport.requests).toHaveLength(0);
    track(1);
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([ids(20)]);
    track(19);
    await runDue();
    expect(transport.requests).toHaveLength(1);
  });

  it("flushes when the time since the client was created has passed", async () => {
    const { track, transport, clock } = testEngine({}, { script: [200] });
    await clock.advance(2_000);
    track(1);
    await clock.advance(2_999);
    expect(transport.requests).toHaveLength(0);
    await clock.advance(1);
    expect(transport.requests).toHaveLength(1);
  });

  it("counts the time from the start of the last flush", async () => {
    const { track, transport, clock } = testEngine({ flushAt: 2 }, { script: [200] });
    await clock.advance(1_000);
    track(2);
    await clock.advance(1_000);
    track(1);
    await clock.advance(3_999);
    expect(transport.requests).toHaveLength(1);
    await clock.advance(1);
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([ids(2), ids(1, 3)]);
  });

  it("sends at once if the time has passed while nothing was queued", async () => {
    const { track, transport, clock, runDue } = testEngine({}, { script: [200] });
    await clock.advance(60_000);
    expect(clock.pending).toBe(0);
    track(1);
    await runDue();
    expect(transport.requests).toHaveLength(1);
  });

  it.each<[name: string, occur: (world: TestEngine) => unknown]>([
    ["a flush of nothing", ({ engine }) => engine.flush()],
    ["a call that finds the queue full", ({ track }) => track(1)],
  ])("does not count %s as a flush", async (name, occur) => {
    const world = testEngine({ maxQueueSize: 2, flushAt: 2 });
    const { track, transport, clock, runDue } = world;
    track(name === "a flush of nothing" ? 0 : 2);
    await clock.advance(3_000);
    occur(world);
    transport.requests[0]?.answer(200);
    await runDue();
    track(1);
    const before = transport.requests.length;
    await clock.advance(1_999);
    expect(transport.requests).toHaveLength(before);
    await clock.advance(1);
    expect(transport.requests).toHaveLength(before + 1);
  });

  it("sends what its batches left behind when the time has passed", async () => {
    const { track, transport, clock, runDue } = testEngine({ flushAt: 20, batchSize: 20 }, { script: [200] });
    track(25);
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([ids(20)]);
    await clock.advance(5_000);
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([ids(20), ids(5, 21)]);
  });

  it("sends at its time what the batches of an earlier flush leave behind", async () => {
    const { track, transport, clock, runDue } = testEngine({ flushAt: 20, batchSize: 20 });
    track(20);
    await runDue();
    track(20);
    await runDue();
    track(5);
    for (const index of [0, 1]) {
      transport.requests[index]?.answer(200);
      await runDue();
    }
    expect(transport.requests).toHaveLength(2);
    await clock.advance(5_000);
    expect(transport.requests[2]?.messageIds).toEqual(ids(5, 41));
  });

  it("leaves no timer for messages that the batch of an earlier flush takes along", async () => {
    const { track, transport, clock, runDue } = testEngine({ flushAt: 20 });
    track(20);
    await runDue();
    track(20);
    await runDue();
    track(5);
    transport.requests[0]?.answer(200);
    await runDue();
    expect(transport.requests[1]?.messageIds).toEqual(ids(25, 21));
    transport.requests[1]?.answer(200);
    await runDue();
    expect(clock.pending).toBe(0);
  });

  it("sets no timer for a flush without a time limit", async () => {
    const { engine, track, clock, runDue } = testEngine({ flushAt: 1, requestTimeoutMs: 10_000 });
    track(1);
    await runDue();
    const before = clock.pending;
    void engine.flush();
    await runDue();
    expect(clock.pending).toBe(before);
    void engine.flush(1_000);
    expect(clock.pending).toBe(before + 1);
  });

  it("cuts what is queued at a flush into requests of batchSize, one at a time", async () => {
    const { track, transport, runDue } = testEngine({ batchSize: 100 });
    track(250);
    await runDue();
    expect(transport.requests).toHaveLength(1);
    transport.requests[0]?.answer(200);
    await runDue();
    expect(transport.requests).toHaveLength(2);
    transport.requests[1]?.answer(200);
    await runDue();
    transport.requests[2]?.answer(200);
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([
      ids(100),
      ids(100, 101),
      ids(50, 201),
    ]);
  });

  it("adds messages that arrive during a request to its last batch, and leaves others to the next flush", async () => {
    const { track, transport, runDue, clock } = testEngine({ flushAt: 20 });
    track(20);
    await runDue();
    track(25);
    transport.requests[0]?.answer(200);
    await runDue();
    expect(transport.requests[1]?.messageIds).toEqual(ids(25, 21));
    transport.requests[1]?.answer(200);
    track(1);
    await runDue();
    expect(transport.requests).toHaveLength(2);
    await clock.advance(5_000);
    expect(transport.requests[2]?.messageIds).toEqual(["m46"]);
  });

  it("does not count messages that a batch took along towards the next flush", async () => {
    const { track, transport, runDue } = testEngine({ flushAt: 20 }, { script: [200] });
    track(20);
    track(15);
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds.length)).toEqual([35]);
    track(19);
    await runDue();
    expect(transport.requests).toHaveLength(1);
    track(1);
    await runDue();
    expect(transport.requests[1]?.messageIds).toEqual(ids(20, 36));
  });

  it("sends each message by itself, at once and in order, if flushAt is 1", async () => {
    const { track, transport, runDue } = testEngine({ flushAt: 1 }, { script: [200] });
    track(3);
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([["m1"], ["m2"], ["m3"]]);
  });

  it("cuts a request at 512,000 bytes", async () => {
    const { engine, transport, runDue } = testEngine({ flushAt: 100 }, { script: [200] });
    for (let i = 0; i < 20; i++) {
      engine.take("track", { userId: "u", event: "E", properties: { text: "é".repeat(15_000) } });
    }
    void engine.flush();
    await runDue();
    const sizes = transport.requests.map(({ request }) => Buffer.byteLength(request.body));
    expect(sizes).toHaveLength(2);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(512_000);
    expect(transport.requests.flatMap(({ messageIds }) => messageIds)).toHaveLength(20);
  });
});

describe("eager (the Ruby library's rule)", () => {
  it("sends the first message at once, and then whatever queued meanwhile in one batch", async () => {
    const { track, transport, runDue } = testEngine(rubyDefaults);
    track(1);
    await runDue();
    track(30);
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([["m1"]]);
    transport.requests[0]?.answer(200);
    await runDue();
    expect(transport.requests[1]?.messageIds).toEqual(ids(30, 2));
  });

  it("never has two requests in flight", async () => {
    const { track, transport, runDue } = testEngine({ ...rubyDefaults, batchSize: 2 });
    track(6);
    for (let answered = 0; answered < 3; answered++) {
      await runDue();
      expect(transport.requests).toHaveLength(answered + 1);
      transport.requests[answered]?.answer(200);
    }
    await runDue();
    expect(transport.requests).toHaveLength(3);
  });
});

describe("the limits of the queue", () => {
  it("refuses what is above maxQueueSize, counting messages in flight", async () => {
    const { engine, track, transport, errors, runDue } = testEngine({ flushAt: 2, maxQueueSize: 4 });
    track(2);
    await runDue();
    track(3);
    expect(engine.stats()).toEqual({
      delivered: 0,
      failed: 0,
      refused: 1,
      queued: 4,
      queuedBytes: expect.any(Number),
      peakQueued: 4,
      peakQueuedBytes: expect.any(Number),
    });
    expect(errors).toMatchObject([
      { status: -1, detail: { code: "queue_full", messages: [{ messageId: "m5" }] } },
    ]);
    transport.requests[0]?.answer(200);
    await runDue();
    expect(engine.take("track", { userId: "u", event: "E" })).toMatchObject({ accepted: true });
  });

  it("returns the caller's id for a refused call", () => {
    const { engine, track } = testEngine({ maxQueueSize: 1, flushAt: 20 });
    track(1);
    expect(engine.take("track", { userId: "u", event: "E", messageId: "mine" })).toEqual({
      accepted: false,
      messageId: "mine",
      reason: "queue_full",
      bound: "maxQueueSize",
    });
  });

  it("refuses what is above maxQueueBytes, and flushes", async () => {
    const { engine, transport, runDue } = testEngine({ maxQueueBytes: 40_000 }, { script: [200] });
    const big = { userId: "u", event: "E", properties: { text: "x".repeat(30_000) } };
    expect(engine.take("track", big)).toMatchObject({ accepted: true });
    expect(engine.take("track", big)).toMatchObject({
      accepted: false,
      reason: "queue_full",
      bound: "maxQueueBytes",
    });
    expect(engine.take("track", { userId: "u", event: "small" })).toMatchObject({ accepted: true });
    await runDue();
    expect(transport.requests).toHaveLength(1);
    expect(engine.take("track", big)).toMatchObject({ accepted: true });
  });

  it("sends what is queued as soon as it can after a message was refused", async () => {
    const { track, transport, runDue } = testEngine({ maxQueueSize: 30, flushAt: 20 });
    track(20);
    await runDue();
    track(11);
    transport.requests[0]?.answer(200);
    await runDue();
    expect(transport.requests[1]?.messageIds).toEqual(ids(10, 21));
  });

  it("sends a full queue whose flushAt was never reached", async () => {
    const { track, transport, runDue } = testEngine({ maxQueueSize: 10, flushAt: 500 }, { script: [200] });
    track(10);
    await runDue();
    expect(transport.requests).toHaveLength(1);
  });

  it("refuses a message over 32 KB, to the byte", () => {
    const { engine } = testEngine();
    const withText = (characters: number) =>
      engine.take("track", {
        userId: "u",
        event: "E",
        messageId: "m",
        timestamp: "2026",
        text: "x".repeat(characters),
      });
    const overhead = JSON.stringify({
      userId: "u",
      event: "E",
      messageId: "m",
      timestamp: "2026",
      text: "",
      type: "track",
    }).length;
    expect(withText(32_768 - overhead)).toMatchObject({ accepted: true });
    expect(withText(32_769 - overhead)).toEqual({
      accepted: false,
      messageId: "m",
      reason: "message_too_large",
    });
  });
});

describe("flush()", () => {
  it("resolves at once if nothing is held", async () => {
    const { engine, clock, holds } = testEngine();
    expect(await engine.flush()).toEqual({ delivered: 0, failed: 0, refused: 0 });
    expect([clock.pending, holds()]).toEqual([0, 0]);
  });

  it("waits for what was held at the call, and not for later messages", async () => {
    const { engine, track, transport, runDue } = testEngine();
    track(3);
    const flushed = engine.flush();
    await runDue();
    track(2);
    transport.requests[0]?.answer(200);
    expect(await flushed).toEqual({ delivered: 3, failed: 0, refused: 0 });
    expect(engine.stats()).toEqual({
      delivered: 3,
      failed: 0,
      refused: 0,
      queued: 2,
      queuedBytes: expect.any(Number),
      peakQueued: 5,
      peakQueuedBytes: expect.any(Number),
    });
  });

  it("gives each of two overlapping calls its own result", async () => {
    const { engine, track, transport, runDue } = testEngine({ batchSize: 2 }, { script: [200, 400, 200] });
    track(2);
    const first = engine.flush();
    track(2);
    const second = engine.flush();
    await runDue();
    track(1);
    const third = engine.flush();
    await runDue();
    expect(await first).toEqual({ delivered: 2, failed: 0, refused: 0 });
    expect(await second).toEqual({ delivered: 2, failed: 2, refused: 0 });
    expect((await third).delivered).toBeGreaterThanOrEqual(1);
    expect(transport.requests).toHaveLength(3);
  });

  it("counts only its own messages in a batch with later ones", async () => {
    const { engine, track, transport, runDue } = testEngine({ flushAt: 1_000 });
    track(1);
    const flushed = engine.flush();
    track(2);
    await runDue();
    expect(transport.requests[0]?.messageIds).toEqual(ids(3));
    const verdict = (index: number) => ({
      index,
      messageId: `m${index + 1}`,
      code: "event_not_defined",
      message: "x",
    });
    transport.requests[0]?.answer(200, {
      body: JSON.stringify({ success: true, rejected: [verdict(0), verdict(2)] }),
    });
    expect(await flushed).toEqual({ delivered: 0, failed: 0, refused: 1 });
    expect(engine.stats()).toMatchObject({ delivered: 1, refused: 2 });
  });

  it("waits for a request that takes minutes, and does not make it again", async () => {
    const { engine, track, transport, clock } = testEngine({ requestTimeoutMs: 600_000 });
    track(1);
    void engine.flush();
    await clock.advance(300_000);
    expect(transport.requests).toHaveLength(1);
  });

  it("keeps the process alive while it is pending, and only then", async () => {
    const { engine, track, transport, runDue, holds } = testEngine();
    track(1);
    expect(holds()).toBe(0);
    const flushed = engine.flush();
    await runDue();
    expect(holds()).toBe(1);
    transport.requests[0]?.answer(200);
    await flushed;
    await runDue();
    expect(holds()).toBe(0);
  });
});

describe("maxInFlight", () => {
  it("keeps that many requests in flight, and no more", async () => {
    const { engine, track, transport, runDue } = testEngine({ maxInFlight: 3, batchSize: 10 });
    track(50);
    const flushed = engine.flush();
    await runDue();
    expect(transport.requests).toHaveLength(3);
    transport.requests[1]?.answer(200);
    await runDue();
    expect(transport.requests).toHaveLength(4);
    for (let i = 0; i < 5; i++) {
      transport.requests[i]?.answer(200);
      await runDue();
    }
    expect(await flushed).toEqual({ delivered: 50, failed: 0, refused: 0 });
  });
});

describe("stub", () => {
  it("sends nothing and counts everything as delivered", async () => {
    const { engine, track, transport, errors } = testEngine({ stub: true, flushAt: 2 });
    track(5);
    expect(await engine.flush()).toEqual({ delivered: 5, failed: 0, refused: 0 });
    expect([transport.requests.length, errors.length]).toEqual([0, 0]);
  });
});

it("makes the JSON at the call: later changes of the object have no effect", async () => {
  const { engine, transport, runDue } = testEngine();
  const call = { userId: "u", event: "E", properties: { list: [1] } };
  engine.take("track", call);
  call.properties.list.push(2);
  call.event = "F";
  void engine.flush();
  await runDue();
  expect(JSON.parse(String(transport.requests[0]?.request.body))).toMatchObject({
    batch: [{ event: "E", properties: { list: [1] } }],
  });
});

it("updates the time of calls every millisecond", async () => {
  const clock = manualClock({ startMs: Date.UTC(2026, 10, 21) });
  const { engine, transport, runDue } = testEngine({}, { clock });
  engine.take("track", { userId: "u", event: "A" });
  clock.jump(1);
  engine.take("track", { userId: "u", event: "B" });
  void engine.flush();
  await runDue();
  expect(JSON.parse(String(transport.requests[0]?.request.body))).toMatchObject({
    batch: [
      { originalTimestamp: "2026-11-21T00:00:00.000Z" },
      { originalTimestamp: "2026-11-21T00:00:00.001Z" },
    ],
  });
});
