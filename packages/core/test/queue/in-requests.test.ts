import { describe, expect, it } from "vitest";
import { STRANDED_AFTER_MS } from "../../src/queue/message-queue.js";
import { ids, testEngine } from "../doubles/test-engine.js";

/** A runtime where timers and requests end with the incoming request that started them. */
const inRequest = { isInRequest: () => true };
const outOfRequest = { isInRequest: () => false };

describe("where everything ends with the incoming request", () => {
  it("sends only in a flush, whatever the policy says", async () => {
    const { engine, transport, clock, track, runDue } = testEngine({ flushAt: 2 }, inRequest);
    track(5);
    await clock.advance(60_000);
    expect(transport.requests).toHaveLength(0);
    const flushed = engine.flush();
    await runDue();
    transport.requests[0]?.answer(200);
    expect(await flushed).toEqual({ delivered: 5, failed: 0, refused: 0 });
  });

  it("sends nothing when the queue is full, or when a caller asks for room that is there", async () => {
    const { engine, transport, track, runDue } = testEngine({ maxQueueSize: 2 }, inRequest);
    track(1);
    await engine.ready();
    track(2);
    await runDue();
    expect(transport.requests).toHaveLength(0);
  });

  it("has maxInFlight requests of a flush in flight, and leaves later messages to the next flush", async () => {
    const { engine, transport, track, runDue } = testEngine({ batchSize: 1 }, inRequest);
    track(3);
    void engine.flush();
    track(1);
    for (let answered = 0; answered < 3; answered++) {
      await runDue();
      expect(transport.requests).toHaveLength(answered + 1);
      transport.requests[answered]?.answer(200);
    }
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([["m1"], ["m2"], ["m3"]]);
  });

  it("does not wait for the requests of another flush before it sends", async () => {
    const { engine, transport, track, runDue } = testEngine({}, inRequest);
    track(1);
    void engine.flush();
    await runDue();
    track(1);
    void engine.flush();
    await runDue();
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([["m1"], ["m2"]]);
  });

  it("sends a batch again whose request ended, and counts it once", async () => {
    const { engine, transport, clock, track, runDue } = testEngine({ requestTimeoutMs: 600_000 }, inRequest);
    track(3);
    void engine.flush();
    await runDue();
    await clock.advance(STRANDED_AFTER_MS);
    const flushed = engine.flush();
    await runDue();
    const [lost, again] = transport.requests;
    expect(again?.messageIds).toEqual(ids(3));
    again?.answer(200);
    expect(await flushed).toEqual({ delivered: 3, failed: 0, refused: 0 });
    lost?.answer(200);
    await runDue();
    expect(engine.stats()).toMatchObject({ delivered: 3, queued: 0 });
  });

  it("sends a batch again that becomes stranded while a flush waits for it, and leaves no timer", async () => {
    const { engine, transport, clock, track, runDue } = testEngine({ requestTimeoutMs: 600_000 }, inRequest);
    track(1);
    void engine.flush();
    await clock.advance(STRANDED_AFTER_MS / 2);
    const flushed = engine.flush();
    await clock.advance(STRANDED_AFTER_MS);
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([["m1"], ["m1"]]);
    for (const request of transport.requests) request.answer(200);
    expect(await flushed).toMatchObject({ delivered: 1 });
    await runDue();
    expect(clock.pending).toBe(0);
  });

  it("keeps the oldest message first if the process ends while a stranded batch is sent again", async () => {
    const { engine, clock, track, runDue } = testEngine({ requestTimeoutMs: 600_000 }, inRequest);
    track(1);
    void engine.flush();
    await clock.advance(STRANDED_AFTER_MS / 2);
    track(1);
    void engine.flush();
    await clock.advance(STRANDED_AFTER_MS / 2);
    void engine.flush();
    await runDue();
    const kept: string[] = [];
    engine.endNow((batch) => {
      kept.push(...batch.map(({ messageId }) => messageId));
      return "kept";
    });
    expect(kept).toEqual(["m1", "m2"]);
  });

  it("keeps everything and resolves at once if no request can be made now", async () => {
    const { engine, transport, track } = testEngine({}, outOfRequest);
    track(2);
    expect(await engine.flush()).toEqual({ delivered: 0, failed: 0, refused: 0, queued: 2 });
    expect(transport.requests).toHaveLength(0);
    expect(engine.held).toBe(2);
  });

  it("gives up at the deadline of close(), also what a request that ended had in flight", async () => {
    const { engine, clock, errors, track, runDue } = testEngine({}, inRequest);
    track(2);
    void engine.flush();
    await runDue();
    const closed = engine.close(1_000);
    await clock.advance(1_000);
    await runDue();
    expect(await closed).toEqual({ delivered: 0, failed: 2, refused: 0 });
    expect(errors.map(({ detail }) => detail.code)).toEqual(["close_deadline"]);
  });

  it("warns once if messages wait and nobody flushes", async () => {
    const { engine, clock, warnings, track } = testEngine({}, inRequest);
    track(1);
    await clock.advance(5_000);
    track(1);
    expect(warnings).toEqual([]);
    await clock.advance(1);
    track(2);
    expect(warnings).toEqual([expect.stringContaining("only flush() and `waitUntil` do")]);
    void engine.flush();
    await clock.advance(6_000);
    track(1);
    expect(warnings).toHaveLength(1);
  });

  it("counts no time before the first request as waiting", async () => {
    let isInRequest = false;
    const { clock, warnings, track } = testEngine({}, { isInRequest: () => isInRequest });
    track(1);
    await clock.advance(1_000_000);
    isInRequest = true;
    track(2);
    expect(warnings).toEqual([]);
  });

  it("waits for room by flushing in the waiting request", async () => {
    const { engine, transport, track, runDue } = testEngine({ maxQueueSize: 2 }, inRequest);
    track(2);
    const ready = engine.ready();
    await runDue();
    transport.requests[0]?.answer(200);
    await ready;
    expect(engine.stats()).toMatchObject({ delivered: 2, queued: 0 });
  });
});

it("sends stranded batches again if calls find the queue full, because nothing else would make room", async () => {
  const { engine, transport, clock, track, runDue } = testEngine(
    { maxQueueSize: 2, requestTimeoutMs: 600_000, waitUntil: () => {} },
    inRequest,
  );
  track(2);
  await runDue();
  // The request of the flush ended: nobody will ever answer.
  await clock.advance(STRANDED_AFTER_MS * 2);
  expect(engine.take("track", { userId: "u", event: "E" })).toMatchObject({ reason: "queue_full" });
  await runDue();
  expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([ids(2), ids(2)]);
  transport.requests.at(-1)?.answer(200);
  await runDue();
  expect(engine.stats()).toMatchObject({ delivered: 2, refused: 1, queued: 0 });
});
