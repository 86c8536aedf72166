import { expect, test } from "vitest";
import { escapeHidden, messageTitle, messageUser, visibleText } from "../src/words/messages.js";

test.each([
  ["plain text", "plain text"],
  ["naïve 漢字 العربية", "naïve 漢字 العربية"],
  ["👩‍👩‍👧 ❤️‍🔥", "👩‍👩‍👧 ❤️‍🔥"],
  ["a\u0000b", "a\\u0000b"],
  ["a\nb\tc", "a\\nb\\tc"],
  ["\u001b[31mred", "\\u001b[31mred"],
  ["\u202egpj.exe", "\\u202egpj.exe"],
  ["ad\u200dmin", "ad\\u200dmin"],
  ["\u{e0041}", "\\udb40\\udc41"],
])("%j is shown as %s", (text, shown) => expect(visibleText(text)).toBe(shown));

test("truncates long text", () => {
  expect(visibleText("x".repeat(50), 10)).toBe("xxxxxxxxxx…");
  expect(visibleText("a👩bc", 2)).toBe("a…");
});

test("escaped JSON keeps its meaning", () => {
  const value = { text: "\u202e\u0085\u2028\u{e0041} ok", "k\u200bey": [1] };
  const escaped = escapeHidden(JSON.stringify(value, null, 2));
  expect(JSON.parse(escaped)).toEqual(value);
  expect(escaped).not.toMatch(/[\u202e\u0085\u2028\u200b]/u);
});

test.each([
  [{ type: "track", event: "Signed Up" }, "Signed Up"],
  [{ type: "track" }, "(no event name)"],
  [{ type: "track", event: { no: "text" } }, "(no event name)"],
  [{ type: "page", category: "Docs", name: "Home" }, "Docs · Home"],
  [{ type: "page", properties: { path: "/pricing" } }, "/pricing"],
  [{ type: "group", groupId: "acme" }, "acme"],
  [{ type: "alias", previousId: "a", userId: "b" }, "a → b"],
  [{ type: "identify", traits: { plan: "pro", n: 1 } }, "plan: pro, n: 1"],
  [{ type: "identify" }, "(no traits)"],
  [{ type: "\u202ebad" }, "\\u202ebad"],
])("%j is called %s", (message, title) => expect(messageTitle(message)).toBe(title));

test("the user of a message is its user id, or its anonymous id", () => {
  expect(messageUser({ userId: "u", anonymousId: "a" })).toBe("u");
  expect(messageUser({ anonymousId: "a" })).toBe("a");
  expect(messageUser({ userId: 42 })).toBe("42");
});
