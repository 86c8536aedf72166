import { describe, expect, it } from "vitest";
import { fromSnakeCase, viewArguments } from "../../src/index.js";

describe("fromSnakeCase", () => {
  it("renames the message's fields and leaves its data unchanged", () => {
    const fields = {
      user_id: "u",
      anonymous_id: "a",
      message_id: "m",
      group_id: "g",
      previous_id: "p",
      event: "E",
      properties: { user_id: "stays" },
      context: { user_agent: "stays" },
    };
    expect(fromSnakeCase(fields)).toEqual({
      userId: "u",
      anonymousId: "a",
      messageId: "m",
      groupId: "g",
      previousId: "p",
      event: "E",
      properties: { user_id: "stays" },
      context: { user_agent: "stays" },
    });
    const { userId } = fromSnakeCase({ user_id: "u" });
    expect(userId.toUpperCase()).toBe("U");
  });

  it("keeps the camelCase field if both are given, in either order", () => {
    expect(fromSnakeCase({ userId: "camel", user_id: "snake" })).toEqual({ userId: "camel" });
    expect(fromSnakeCase({ user_id: "snake", userId: "camel" })).toEqual({ userId: "camel" });
  });

  it("does not rename fields called like properties of Object", () => {
    expect(fromSnakeCase({ constructor: 1, toString: 2 })).toEqual({ constructor: 1, toString: 2 });
  });
});

describe("the forms of page and screen", () => {
  it.each<[args: unknown[], call: unknown]>([
    [["Home", { userId: "u" }], { name: "Home", userId: "u" }],
    [["Docs", "Home", { userId: "u" }], { category: "Docs", name: "Home", userId: "u" }],
    [["Home"], { name: "Home" }],
    [["Docs", "Home"], { category: "Docs", name: "Home" }],
    [[{ name: "Home", userId: "u" }], { name: "Home", userId: "u" }],
    [["Home", null], { name: "Home" }],
    [[undefined], undefined],
    [[], undefined],
  ])("%j", (args, call) => {
    expect(viewArguments(args)).toEqual(call);
  });
});
