import { describe, expect, it } from "vitest";
import type { Receipt } from "../../src/index.js";
import { testEngine } from "../doubles/test-engine.js";

describe("receipts", () => {
  it.each<
    [kind: Parameters<ReturnType<typeof testEngine>["engine"]["take"]>[0], input: unknown, reason: string]
  >([
    ["track", { userId: "u" }, "event_not_defined"],
    ["track", { userId: "u", event: "" }, "event_not_defined"],
    ["track", { userId: "u", event: 5 }, "event_not_string"],
    ["track", { event: "E" }, "no_user_anon_id"],
    ["track", { userId: "", event: "E" }, "no_user_anon_id"],
    ["track", { userId: "u", event: "E", properties: "p" }, "properties_not_object"],
    ["track", { userId: "u", event: "E", properties: [1] }, "properties_not_object"],
    ["track", { userId: {}, event: "E" }, "user_id_not_string"],
    ["identify", {}, "no_user_anon_id"],
    ["identify", { userId: "u", traits: 5 }, "traits_not_object"],
    ["page", { userId: "u", category: "c" }, "category_without_name"],
    ["screen", { name: "n" }, "no_user_anon_id"],
    ["group", { userId: "u" }, "group_id_required"],
    ["alias", { userId: "u" }, "previous_id_required"],
    ["alias", { previousId: "p" }, "user_id_required"],
    ["track", { userId: "u", event: "E", messageId: "x".repeat(100) }, "message_id_too_long"],
    ["track", null, "not_an_object"],
    ["track", "E", "not_an_object"],
    ["track", [], "not_an_object"],
  ])("%s of %j is refused: %s", (kind, input, reason) => {
    const { engine, errors } = testEngine();
    const receipt = engine.take(kind, input);
    expect(receipt).toMatchObject({ accepted: false, reason });
    expect(errors).toMatchObject([
      { status: -1, detail: { code: reason, messages: [{ messageId: receipt.messageId }] } },
    ]);
    expect(engine.stats()).toEqual({
      delivered: 0,
      failed: 0,
      refused: 1,
      queued: 0,
      queuedBytes: 0,
      peakQueued: 0,
      peakQueuedBytes: 0,
    });
  });

  it("contain the id that the message is sent with", async () => {
    const { engine, transport, runDue } = testEngine();
    const receipts: Receipt[] = [
      engine.take("track", { userId: "u", event: "E" }),
      engine.take("track", { userId: 5, event: "E", messageId: 42 }),
    ];
    void engine.flush();
    await runDue();
    expect(transport.requests[0]?.messageIds).toEqual(receipts.map(({ messageId }) => messageId));
    expect(receipts[1]).toEqual({ accepted: true, messageId: "42" });
  });
});

describe("onError", () => {
  it("may throw or reject: the error is swallowed", async () => {
    const handlers = [
      () => {
        throw new Error("handler");
      },
      async () => {
        throw new Error("async handler");
      },
      () => Promise.reject(undefined),
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: the test needs a hostile thenable.
        then: () => {
          throw new Error("then");
        },
      }),
    ];
    for (const onError of handlers) {
      const { engine, track, runDue } = testEngine({ onError }, { script: [400] });
      expect(() => engine.take("track", {})).not.toThrow();
      track(1);
      expect(await engine.flush()).toMatchObject({ failed: 1 });
      await runDue();
    }
  });

  it("may track a loss without an endless loop", async () => {
    let calls = 0;
    const t = testEngine({
      maxQueueSize: 1,
      onError: () => {
        calls += 1;
        if (calls < 1_000) t.engine.take("track", { userId: "u", event: "Lost one" });
      },
    });
    t.track(2);
    expect(calls).toBe(1);
    await t.runDue();
    expect(calls).toBeGreaterThan(1);
  });
});

describe("events", () => {
  it("report what was delivered, refused and failed, and each request", async () => {
    const body = JSON.stringify({ success: true, rejected: [{ index: 0, code: "c", message: "m" }] });
    const { engine, track } = testEngine(
      { flushAt: 2, batchSize: 2 },
      { script: [{ status: 200, body }, 400] },
    );
    const heard: [string, unknown][] = [];
    for (const name of ["delivered", "failed", "refused", "request"] as const) {
      engine.on(name, (event) => heard.push([name, event]));
    }
    track(2);
    await engine.flush();
    track(2);
    await engine.flush();
    expect(heard.map(([name]) => name)).toEqual(["request", "delivered", "refused", "request", "failed"]);
    expect(heard[0]?.[1]).toMatchObject({ attempt: 1, messages: 2, status: 200, bytes: expect.any(Number) });
    expect(heard[1]?.[1]).toEqual({ messageIds: ["m2"] });
    expect(heard[3]?.[1]).toMatchObject({ status: 400, reason: "HTTP 400" });
  });

  it("report the size of the body in bytes", async () => {
    const { engine, transport } = testEngine({}, { script: [200] });
    let bytes = 0;
    engine.on("request", (event) => {
      bytes = event.bytes;
    });
    engine.take("track", { userId: "u", event: "Ünïcode 🎉" });
    await engine.flush();
    expect(bytes).toBe(Buffer.byteLength(transport.requests[0]?.request.body ?? ""));
  });

  it("are not sent to a removed listener, and other listeners may throw", async () => {
    const { engine, track } = testEngine({}, { script: [200] });
    const heard: string[] = [];
    engine.on("delivered", () => {
      throw new Error("listener");
    });
    const stop = engine.on("delivered", () => heard.push("stopped"));
    engine.on("delivered", () => heard.push("kept"));
    stop();
    stop();
    track(1);
    await engine.flush();
    expect(heard).toEqual(["kept"]);
  });
});

describe("instrument", () => {
  it("is called before and after each attempt, and may add headers", async () => {
    const spans: unknown[] = [];
    const { engine, track, transport, clock, runDue } = testEngine(
      {
        instrument: ({ attempt, headers, messages, url }) => {
          headers.traceparent = `00-trace-${attempt}`;
          return ({ status, reason }) => spans.push({ attempt, messages, url, status, reason });
        },
      },
      { script: [503, 200] },
    );
    track(1);
    void engine.flush();
    await runDue();
    await clock.advance(100);
    expect(spans).toEqual([
      { attempt: 1, messages: 1, url: "http://127.0.0.1:8787/v1/batch", status: 503, reason: "HTTP 503" },
      { attempt: 2, messages: 1, url: "http://127.0.0.1:8787/v1/batch", status: 200, reason: undefined },
    ]);
    expect(transport.requests[1]?.request.headers.traceparent).toBe("00-trace-2");
  });

  it("may throw before and after the request", async () => {
    const { engine, track } = testEngine(
      {
        instrument: () => () => {
          throw new Error("end");
        },
      },
      { script: [200] },
    );
    track(1);
    expect(await engine.flush()).toMatchObject({ delivered: 1 });
  });
});
