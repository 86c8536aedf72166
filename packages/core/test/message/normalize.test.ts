import { describe, expect, it } from "vitest";
import { normalize } from "../../src/message/normalize.js";

const stamp = { messageId: "made", calledAt: "2026-11-21T09:30:08.276Z" };
const none = { context: undefined, integrations: undefined };

describe("normalize", () => {
  it("adds kind, id and the time of the call, and keeps unknown fields", () => {
    expect(normalize("track", { userId: "u", event: "E", extra: 1 }, stamp, none)).toEqual({
      userId: "u",
      event: "E",
      extra: 1,
      type: "track",
      messageId: "made",
      originalTimestamp: stamp.calledAt,
    });
  });

  it.each<[name: string, timestamp: unknown, expected: object]>([
    ["a string is kept as given", "2019-01-02", { timestamp: "2019-01-02" }],
    ["a Date", new Date(0), { timestamp: "1970-01-01T00:00:00.000Z" }],
    ["milliseconds", 86_400_000, { timestamp: "1970-01-02T00:00:00.000Z" }],
    ["an invalid Date", new Date(Number.NaN), { originalTimestamp: stamp.calledAt }],
    ["a number out of range", 1e20, { originalTimestamp: stamp.calledAt }],
    ["null", null, { originalTimestamp: stamp.calledAt }],
    ["an empty string", "", { originalTimestamp: stamp.calledAt }],
    ["an object", {}, { originalTimestamp: stamp.calledAt }],
  ])("timestamp: %s", (_name, timestamp, expected) => {
    const { originalTimestamp, timestamp: settled } = normalize("track", { timestamp }, stamp, none);
    expect({
      ...(originalTimestamp !== undefined && { originalTimestamp }),
      ...(settled !== undefined && { timestamp: settled }),
    }).toEqual(expected);
  });

  it.each<[given: unknown, id: unknown]>([
    ["mine", "mine"],
    [42, "42"],
    ["", "made"],
    [null, "made"],
    [undefined, "made"],
  ])("messageId %s becomes %s", (messageId, id) => {
    expect(normalize("track", { messageId }, stamp, none).messageId).toBe(id);
  });

  it("uses traits as properties on page and screen if there are no properties", () => {
    expect(normalize("page", { traits: { url: "/" } }, stamp, none)).toMatchObject({
      properties: { url: "/" },
    });
    expect(normalize("page", { traits: { a: 1 }, properties: { b: 2 } }, stamp, none)).toMatchObject({
      properties: { b: 2 },
    });
    expect(normalize("identify", { traits: { a: 1 } }, stamp, none)).not.toHaveProperty("properties");
  });

  it("merges the defaults under the message's own fields, key by key", () => {
    const defaults = { context: { app: "shop", ip: "0" }, integrations: { All: false } };
    const message = normalize(
      "track",
      { context: { ip: "1" }, integrations: { Webhooks: true } },
      stamp,
      defaults,
    );
    expect(message).toMatchObject({
      context: { app: "shop", ip: "1" },
      integrations: { All: false, Webhooks: true },
    });
    expect(defaults).toEqual({ context: { app: "shop", ip: "0" }, integrations: { All: false } });
  });

  it("does not change the caller's object", () => {
    const input = Object.freeze({ userId: 5, timestamp: null, traits: Object.freeze({}), context: null });
    expect(() =>
      normalize("page", input, stamp, { context: { a: 1 }, integrations: undefined }),
    ).not.toThrow();
    expect(input).toEqual({ userId: 5, timestamp: null, traits: {}, context: null });
  });

  it("ignores a toJSON of the message, and uses the toJSON of a field", () => {
    const input = { toJSON: () => "gone", properties: { toJSON: () => ({ from: "model" }) } };
    const message = normalize("track", input, stamp, none);
    expect(JSON.parse(JSON.stringify(message))).toMatchObject({
      type: "track",
      properties: { from: "model" },
    });
    expect(normalize("track", { properties: new Date(0) }, stamp, none).properties).toBe(
      "1970-01-01T00:00:00.000Z",
    );
  });

  it("treats __proto__ as a normal field", () => {
    const message = normalize("track", JSON.parse('{"__proto__": {"admin": true}}'), stamp, none);
    expect(Object.getPrototypeOf(message)).toBe(Object.prototype);
    expect(JSON.stringify(message)).toContain('"__proto__":{"admin":true}');
  });
});
