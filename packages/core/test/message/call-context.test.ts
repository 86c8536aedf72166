import { describe, expect, it } from "vitest";
import type { CallContext } from "../../src/index.js";
import { nestedContext, withIdsOf } from "../../src/message/call-context.js";
import { testEngine } from "../doubles/test-engine.js";

function messagesOf(transport: ReturnType<typeof testEngine>["transport"]): Record<string, unknown>[] {
  return transport.requests.flatMap(
    ({ request }) => (JSON.parse(String(request.body)) as { batch: Record<string, unknown>[] }).batch,
  );
}

describe("the ids of a call within a context", () => {
  it.each<[name: string, context: object, call: object, ids: object]>([
    ["none of its own", { userId: "u", anonymousId: "a" }, {}, { userId: "u", anonymousId: "a" }],
    [
      "undefined and null count as none",
      { userId: "u" },
      { userId: undefined, anonymousId: null },
      { userId: "u" },
    ],
    ["the same id", { userId: 5, anonymousId: "a" }, { userId: "5" }, { userId: "5", anonymousId: "a" }],
    [
      "a user id where there is an anonymous one",
      { anonymousId: "a" },
      { userId: "u" },
      { userId: "u", anonymousId: "a" },
    ],
    [
      "another user: not the anonymous id of the first one",
      { userId: "u", anonymousId: "a" },
      { userId: "v" },
      { userId: "v" },
    ],
    [
      "another anonymous id: not the user of the first one",
      { userId: "u", anonymousId: "a" },
      { anonymousId: "b" },
      { anonymousId: "b" },
    ],
  ])("%s", (_name, context, call, ids) => {
    const message = withIdsOf(context, { event: "E", ...call });
    const { event, ...rest } = JSON.parse(JSON.stringify(message)) as Record<string, unknown>;
    expect(event).toBe("E");
    expect(Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null))).toEqual(ids);
  });
});

describe("nested contexts", () => {
  it.each<[name: string, outer: CallContext | undefined, inner: unknown, result: object]>([
    ["the first one", undefined, { userId: "u" }, { userId: "u" }],
    [
      "merge key by key",
      { userId: "u", context: { a: 1, b: 1 } },
      { context: { b: 2 } },
      { userId: "u", context: { a: 1, b: 2 } },
    ],
    ["a user who logs in", { anonymousId: "a" }, { userId: "u" }, { anonymousId: "a", userId: "u" }],
    ["another user", { userId: "u", anonymousId: "a" }, { userId: "v" }, { userId: "v" }],
    ["no object", { userId: "u" }, null, { userId: "u" }],
    ["a context that is no object", { userId: "u" }, { context: "text" }, { userId: "u" }],
  ])("%s", (_name, outer, inner, result) => {
    expect(JSON.parse(JSON.stringify(nestedContext(outer, inner as CallContext)))).toEqual(result);
  });

  it("ignores an argument that cannot be read", () => {
    const hostile = Object.defineProperty({}, "userId", {
      get() {
        throw new Error("getter");
      },
    });
    expect(nestedContext({ userId: "u" }, hostile)).toEqual({ userId: "u" });
  });
});

describe("withContext", () => {
  it("holds over an await, nests, and ends with the function", async () => {
    const { engine, transport, runDue } = testEngine({ context: { app: "shop" } }, { script: [200] });
    const track = (event: string, fields: object = {}) => engine.take("track", { event, ...fields });
    await engine.withContext({ userId: "u1", context: { requestId: "r1" } }, async () => {
      await Promise.resolve();
      track("Outer");
      await engine.withContext({ context: { step: 2 } }, async () => {
        await new Promise((resolve) => setImmediate(resolve));
        track("Inner", { context: { requestId: "own" } });
      });
      track("Outer again", { userId: "u2" });
    });
    expect(track("Outside")).toMatchObject({ accepted: false, reason: "no_user_anon_id" });
    void engine.flush();
    await runDue();
    expect(messagesOf(transport)).toMatchObject([
      { event: "Outer", userId: "u1", context: { app: "shop", requestId: "r1" } },
      { event: "Inner", userId: "u1", context: { app: "shop", requestId: "own", step: 2 } },
      { event: "Outer again", userId: "u2", context: { app: "shop", requestId: "r1" } },
    ]);
  });

  it("keeps requests that run at the same time apart, and clients too", async () => {
    const one = testEngine({}, { script: [200] });
    const two = testEngine({}, { script: [200] });
    await Promise.all(
      ["u1", "u2", "u3"].map((userId) =>
        one.engine.withContext({ userId }, async () => {
          await new Promise((resolve) => setImmediate(resolve));
          one.engine.take("track", { event: `E ${userId}` });
          two.engine.take("track", { event: "Other", anonymousId: "a" });
        }),
      ),
    );
    void one.engine.flush();
    void two.engine.flush();
    await one.runDue();
    await two.runDue();
    expect(messagesOf(one.transport).map(({ event, userId }) => [event, userId])).toEqual([
      ["E u1", "u1"],
      ["E u2", "u2"],
      ["E u3", "u3"],
    ]);
    expect(messagesOf(two.transport).every((message) => !("userId" in message))).toBe(true);
  });

  it("returns what the function returns, and throws what it throws", () => {
    const { engine } = testEngine();
    expect(engine.withContext({ userId: "u" }, () => 5)).toBe(5);
    expect(() =>
      engine.withContext({ userId: "u" }, () => {
        throw new Error("the application's own");
      }),
    ).toThrow("the application's own");
  });

  it("is seen by beforeSend", () => {
    const seen: unknown[] = [];
    const { engine } = testEngine({
      beforeSend: (message) => {
        seen.push(message.userId, message.context);
        return message;
      },
    });
    engine.withContext({ userId: "u", context: { a: 1 } }, () => engine.take("track", { event: "E" }));
    expect(seen).toEqual(["u", { a: 1 }]);
  });
});
