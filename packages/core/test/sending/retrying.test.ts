import { describe, expect, it } from "vitest";
import { ids, testEngine } from "../doubles/test-engine.js";

describe("a batch that fails", () => {
  it("is sent again with the same ids, a new sentAt, and X-Retry-Count on retries only", async () => {
    const { engine, track, transport, clock, runDue } = testEngine({}, { script: ["fail", 503, 200] });
    track(2);
    const flushed = engine.flush();
    await runDue();
    await clock.advance(90);
    await clock.advance(180);
    expect(await flushed).toEqual({ delivered: 2, failed: 0, refused: 0 });
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([ids(2), ids(2), ids(2)]);
    expect(transport.requests.map(({ request }) => request.headers["x-retry-count"])).toEqual([
      undefined,
      "1",
      "2",
    ]);
    expect(new Set(transport.requests.map(({ sentAt }) => sentAt)).size).toBe(3);
    expect(clock.slept).toEqual([90, 180]);
  });

  it("is given up after maxRetries, and reported once with the last status and all its messages", async () => {
    const { engine, track, transport, clock, errors } = testEngine(
      { maxRetries: 2 },
      { script: [503, 502, 500] },
    );
    track(3);
    const flushed = engine.flush();
    await clock.advance(60_000);
    expect(await flushed).toEqual({ delivered: 0, failed: 3, refused: 0 });
    expect(transport.requests).toHaveLength(3);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({
      status: 500,
      message: "Given up after 3 attempts: HTTP 500",
      detail: {
        code: "retries_exhausted",
        attempts: 3,
        messages: [{ messageId: "m1" }, { messageId: "m2" }, { messageId: "m3" }],
      },
    });
    expect(JSON.parse(errors[0]?.detail.messages[0]?.json ?? "")).toMatchObject({
      event: "E1",
      messageId: "m1",
    });
  });

  it.each([400, 401, 403, 404, 421, 501, 302])("is given up at once for %s", async (status) => {
    const { engine, track, transport, clock, errors } = testEngine({}, { script: [{ status, body: "No." }] });
    track(2);
    expect(await engine.flush()).toEqual({ delivered: 0, failed: 2, refused: 0 });
    expect(transport.requests).toHaveLength(1);
    expect(errors).toMatchObject([{ status, message: "No.", detail: { code: "request_rejected" } }]);
    expect(clock.pending).toBe(0);
  });

  it("waits as long as the server asks, and does not count that retry", async () => {
    const script = [...Array.from({ length: 10 }, () => ({ status: 429, retryAfter: "5" })), 200];
    const { engine, track, transport, clock, errors } = testEngine({ maxRetries: 1 }, { script });
    track(1);
    const flushed = engine.flush();
    await clock.advance(50_000);
    expect(await flushed).toEqual({ delivered: 1, failed: 0, refused: 0 });
    expect(clock.slept.filter((ms) => ms === 5_000)).toHaveLength(10);
    expect(transport.requests.at(-1)?.request.headers["x-retry-count"]).toBe("10");
    expect(errors).toEqual([]);
  });

  it("follows Retry-After up to 300 s", async () => {
    const { engine, track, clock } = testEngine({}, { script: [{ status: 503, retryAfter: "86400" }, 200] });
    track(1);
    const flushed = engine.flush();
    await clock.advance(300_000);
    expect(await flushed).toMatchObject({ delivered: 1 });
    expect(clock.slept).toEqual([300_000]);
  });

  it("is given up 12 hours after its first attempt, whatever the server asks for", async () => {
    const { engine, track, clock, errors } = testEngine({}, { script: [{ status: 429, retryAfter: "300" }] });
    track(1);
    const flushed = engine.flush();
    await clock.advance(12 * 60 * 60 * 1_000 - 1);
    expect(engine.held).toBe(1);
    await clock.advance(300_000);
    expect(await flushed).toMatchObject({ failed: 1 });
    expect(errors).toMatchObject([{ status: 429, detail: { code: "retries_exhausted" } }]);
  });

  it.each(["0", "Thu, 01 Jan 1970 00:00:00 GMT", "0.001"])(
    "obeys Retry-After: %s once, and then does not loop without pauses",
    async (retryAfter) => {
      const { engine, track, transport, clock } = testEngine(
        { maxRetries: 3 },
        { script: [{ status: 503, retryAfter }] },
      );
      track(1);
      const flushed = engine.flush();
      await clock.advance(1);
      expect(transport.requests).toHaveLength(2);
      await clock.advance(60_000);
      expect(await flushed).toMatchObject({ failed: 1 });
      expect(transport.requests).toHaveLength(4);
      expect(clock.slept.slice(1)).toEqual([180, 360]);
    },
  );

  it("is retried after a timeout", async () => {
    const { engine, track, transport, clock, runDue } = testEngine({ requestTimeoutMs: 10_000 });
    track(1);
    const flushed = engine.flush();
    await runDue();
    await clock.advance(9_999);
    expect(transport.requests[0]?.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(transport.requests[0]?.signal.aborted).toBe(true);
    await clock.advance(100);
    transport.requests[1]?.answer(200);
    expect(await flushed).toMatchObject({ delivered: 1 });
    // A late answer to the first attempt is ignored.
    transport.requests[0]?.answer(500);
    await runDue();
    expect(engine.stats()).toEqual({
      delivered: 1,
      failed: 0,
      refused: 0,
      queued: 0,
      queuedBytes: 0,
      peakQueued: 1,
      peakQueuedBytes: expect.any(Number),
    });
  });
});

describe("a 429", () => {
  it("delays later batches as long as the server asks", async () => {
    const { engine, track, transport, clock, runDue } = testEngine({ maxInFlight: 3, batchSize: 1 });
    track(2);
    void engine.flush();
    await runDue();
    transport.requests[0]?.answer(429, { retryAfter: "7" });
    transport.requests[1]?.answer(200);
    await runDue();
    track(3);
    void engine.flush();
    await runDue();
    await clock.advance(6_999);
    expect(transport.requests).toHaveLength(2);
    await clock.advance(1);
    expect(transport.requests.slice(2).map(({ messageIds }) => messageIds)).toEqual([["m1"], ["m3"], ["m4"]]);
  });

  it("with a long wait is not shortened by one with a short wait", async () => {
    const { engine, track, transport, clock, runDue } = testEngine({ maxInFlight: 3, batchSize: 1 });
    track(2);
    void engine.flush();
    await runDue();
    transport.requests[0]?.answer(429, { retryAfter: "10" });
    await runDue();
    transport.requests[1]?.answer(429, { retryAfter: "1" });
    await runDue();
    track(1);
    void engine.flush();
    await clock.advance(9_999);
    expect(transport.requests.slice(2).map(({ messageIds }) => messageIds)).toEqual([["m2"]]);
    await clock.advance(1);
    expect(transport.requests.slice(3).map(({ messageIds }) => messageIds)).toEqual([["m1"], ["m3"]]);
  });

  it("delays other batches by the backoff if the server gives no time, and a 503 does not", async () => {
    for (const [status, expected] of [
      [429, 2],
      [503, 3],
    ]) {
      const { engine, track, transport, runDue } = testEngine({ maxInFlight: 3, batchSize: 1 });
      track(2);
      void engine.flush();
      await runDue();
      transport.requests[0]?.answer(Number(status));
      transport.requests[1]?.answer(200);
      await runDue();
      track(1);
      void engine.flush();
      await runDue();
      expect(transport.requests).toHaveLength(Number(expected));
    }
  });
});

describe("a 413", () => {
  it("is sent again in halves, in order, one at a time", async () => {
    const { engine, track, transport } = testEngine({}, { script: [413, 413, 200, 200, 200] });
    track(5);
    expect(await engine.flush()).toEqual({ delivered: 5, failed: 0, refused: 0 });
    expect(transport.requests.map(({ messageIds }) => messageIds)).toEqual([
      ids(5),
      ids(3),
      ids(2),
      ids(1, 3),
      ids(2, 4),
    ]);
  });

  it("gives up a single message that is too large for the server", async () => {
    const { engine, track, errors } = testEngine({}, { script: [413, 413, 200] });
    track(2);
    expect(await engine.flush()).toEqual({ delivered: 1, failed: 1, refused: 0 });
    expect(errors).toMatchObject([
      { status: 413, detail: { code: "request_rejected", messages: [{ messageId: "m1" }] } },
    ]);
  });

  it("does not change the size of later batches", async () => {
    const { engine, track, transport } = testEngine({}, { script: [413, 200, 200, 200] });
    track(4);
    await engine.flush();
    track(4);
    await engine.flush();
    expect(transport.requests.map(({ messageIds }) => messageIds.length)).toEqual([4, 2, 2, 4]);
  });
});

describe("verdicts", () => {
  it("are reported with their messages, and counted as refused", async () => {
    const rejected = [
      { index: 1, messageId: "m2", code: "event_not_defined", message: "An event is required" },
      { index: 1, code: "twice", message: "the same again" },
      { index: 99, code: "unknown", message: "no such message" },
    ];
    const body = JSON.stringify({ success: true, accepted: 2, rejected });
    const { engine, track, errors } = testEngine({}, { script: [{ status: 200, body }] });
    track(3);
    expect(await engine.flush()).toEqual({ delivered: 2, failed: 0, refused: 1 });
    expect(engine.stats()).toEqual({
      delivered: 2,
      failed: 0,
      refused: 1,
      queued: 0,
      queuedBytes: 0,
      peakQueued: 3,
      peakQueuedBytes: expect.any(Number),
    });
    expect(errors).toMatchObject([
      {
        status: 200,
        message: "1 of 3 messages refused; the first: event_not_defined: An event is required",
        detail: {
          code: "messages_refused",
          messages: [{ messageId: "m2", reason: "event_not_defined", text: "An event is required" }],
        },
      },
    ]);
  });
});

describe("the write key", () => {
  it("is sent as the user name of Basic authentication, whatever its characters", async () => {
    const { engine, track, transport } = testEngine({ writeKey: "kéy" }, { script: [200] });
    track(1);
    await engine.flush();
    const authorization = transport.requests[0]?.request.headers.authorization ?? "";
    expect(Buffer.from(authorization.replace("Basic ", ""), "base64").toString()).toBe("kéy:");
  });

  it("causes one warning if it is refused", async () => {
    const { engine, track, warnings } = testEngine({ flushAt: 1 }, { script: [401] });
    track(3);
    await engine.flush();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("401");
  });
});
