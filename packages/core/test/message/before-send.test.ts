import { describe, expect, it } from "vitest";
import type { AnalyticsOptions, BeforeSend } from "../../src/index.js";
import { testEngine } from "../doubles/test-engine.js";

/** The messages that arrive when `calls` are tracked with these functions. */
async function sentWith(beforeSend: AnalyticsOptions["beforeSend"], ...calls: object[]) {
  const { engine, transport, runDue, errors } = testEngine({ beforeSend }, { script: [200] });
  const receipts = calls.map((call) => engine.take("track", { userId: "u", event: "E", ...call }));
  const flushed = engine.flush();
  await runDue();
  const sent = transport.requests.flatMap(
    ({ request }) => (JSON.parse(String(request.body)) as { batch: Record<string, unknown>[] }).batch,
  );
  return { sent, receipts, errors, stats: engine.stats(), flushed: await flushed };
}

describe("beforeSend", () => {
  it("gets the message as it will be sent, and what it returns is sent", async () => {
    const seen: unknown[] = [];
    const beforeSend: BeforeSend = (message) => {
      seen.push(structuredClone(message));
      return { ...message, properties: { ...message.properties, added: true } };
    };
    const { sent } = await sentWith(beforeSend, {
      messageId: "m1",
      userId: 42,
      timestamp: new Date(0),
      properties: { at: new Date(0), big: 10n, gone: undefined },
    });
    const expected = {
      type: "track",
      messageId: "m1",
      userId: "42",
      event: "E",
      timestamp: "1970-01-01T00:00:00.000Z",
    };
    const properties = { at: "1970-01-01T00:00:00.000Z", big: "10" };
    expect(seen).toEqual([{ ...expected, properties }]);
    expect(sent).toEqual([{ ...expected, properties: { ...properties, added: true } }]);
  });

  it("sees the client's context and the time of the call", async () => {
    const { engine, clock } = testEngine({
      context: { app: "shop" },
      beforeSend: (message) => {
        expect(message).toMatchObject({
          context: { app: "shop" },
          originalTimestamp: new Date(clock.now()).toISOString(),
        });
        return message;
      },
    });
    expect(engine.take("track", { userId: "u", event: "E" })).toMatchObject({ accepted: true });
  });

  it("may change its argument without changing the objects of the call", async () => {
    const properties = { email: "ada@example.com", deep: { list: [1] } };
    const { sent } = await sentWith(
      (message) => {
        delete message.properties?.email;
        const deep = message.properties?.deep as { list: number[] };
        deep.list.push(2);
        message.event = "Changed";
        return message;
      },
      { properties },
    );
    expect(sent).toMatchObject([{ event: "Changed", properties: { deep: { list: [1, 2] } } }]);
    expect(sent[0]?.properties).not.toHaveProperty("email");
    expect(properties).toEqual({ email: "ada@example.com", deep: { list: [1] } });
  });

  it("runs several functions in order, up to the one that drops the message", async () => {
    const ran: string[] = [];
    const { sent } = await sentWith(
      [
        (message) => {
          ran.push(`1 ${message.event}`);
          return message.event === "Drop" ? null : { ...message, event: `${message.event}!` };
        },
        (message) => {
          ran.push(`2 ${message.event}`);
          return message;
        },
      ],
      { event: "Drop" },
      { event: "Keep" },
    );
    expect(ran).toEqual(["1 Drop", "1 Keep", "2 Keep!"]);
    expect(sent).toMatchObject([{ event: "Keep!" }]);
  });

  it("drops a message by returning null: counted, in the receipt, and no error", async () => {
    const { sent, receipts, errors, stats, flushed } = await sentWith(
      (message) => (message.event === "E" ? null : message),
      { messageId: "m1" },
      { messageId: "m2", event: "F" },
    );
    expect(receipts).toEqual([
      { accepted: false, messageId: "m1", reason: "dropped" },
      { accepted: true, messageId: "m2" },
    ]);
    expect(sent).toMatchObject([{ messageId: "m2" }]);
    expect(errors).toEqual([]);
    expect(stats).toEqual({
      delivered: 1,
      failed: 0,
      refused: 0,
      queued: 0,
      dropped: 1,
      queuedBytes: 0,
      peakQueued: 1,
      peakQueuedBytes: expect.any(Number),
    });
    expect(flushed).toEqual({ delivered: 1, failed: 0, refused: 0 });
  });

  it.each<[name: string, beforeSend: unknown, text: string]>([
    [
      "throws",
      () => {
        throw new TypeError("no email");
      },
      "beforeSend threw no email",
    ],
    [
      "throws what cannot be printed",
      () => {
        throw {
          toString: () => {
            throw 1;
          },
        };
      },
      "beforeSend threw an unprintable error",
    ],
    ["returns nothing", () => {}, "beforeSend returned undefined: return the message, or null to drop it"],
    ["returns text", () => "x", "beforeSend returned a string: return the message, or null to drop it"],
    ["returns a list", () => [], "beforeSend returned an array: return the message, or null to drop it"],
    [
      "changes the id",
      (message: object) => ({ ...message, messageId: "other" }),
      "beforeSend changed `type` or `messageId`: both must stay as they are",
    ],
    [
      "makes a message of its own",
      () => ({ event: "E" }),
      "beforeSend changed `type` or `messageId`: both must stay as they are",
    ],
    [
      "is the second of two",
      [
        (message: object) => message,
        () => {
          throw new Error("second");
        },
      ],
      "beforeSend[1] threw second",
    ],
    [
      "returns a Proxy that throws",
      () =>
        new Proxy(
          {},
          {
            get() {
              throw new Error("trap");
            },
          },
        ),
      "beforeSend threw trap",
    ],
  ])("refuses the message if it %s", async (_name, beforeSend, text) => {
    const { sent, receipts, errors, stats } = await sentWith(beforeSend as BeforeSend, { messageId: "m1" });
    expect(sent).toEqual([]);
    expect(receipts).toEqual([{ accepted: false, messageId: "m1", reason: "before_send_failed" }]);
    expect(errors).toEqual([
      {
        status: -1,
        message: text,
        detail: { code: "before_send_failed", messages: [{ messageId: "m1", json: undefined }] },
      },
    ]);
    expect(stats).toMatchObject({ refused: 1, dropped: 0 });
  });

  it("is not called for a message that is refused anyway, and what it returns is checked", async () => {
    const { receipts, errors } = await sentWith(
      (message) => ({ ...message, userId: undefined }),
      { messageId: "m1", event: "" },
      { messageId: "m2" },
    );
    expect(receipts).toMatchObject([{ reason: "event_not_defined" }, { reason: "no_user_anon_id" }]);
    expect(errors[1]?.message).toMatch(/, after beforeSend$/);
  });

  it("runs before the size is checked", async () => {
    const { receipts } = await sentWith((message) => ({ ...message, properties: {} }), {
      properties: { large: "x".repeat(40_000) },
    });
    expect(receipts).toMatchObject([{ accepted: true }]);
  });

  it("cannot call its own client, so it cannot call itself without end", async () => {
    const receipts: unknown[] = [];
    const { engine } = testEngine({
      beforeSend: (message) => {
        receipts.push(engine.take("track", { userId: "u", event: "Seen" }));
        return message;
      },
    });
    expect(engine.take("track", { userId: "u", event: "E" })).toMatchObject({ accepted: true });
    expect(receipts).toMatchObject([{ accepted: false, reason: "before_send_failed" }]);
  });

  it("keeps Dates, toJSON and numeric ids of what it returns as calls keep them", async () => {
    const { sent } = await sentWith(
      (message) => ({
        ...message,
        userId: 7 as never,
        properties: { toJSON: () => ({ at: new Date(0) }) },
        toJSON: () => "hidden",
      }),
      {},
    );
    expect(sent).toMatchObject([{ userId: "7", properties: { at: "1970-01-01T00:00:00.000Z" } }]);
  });
});
