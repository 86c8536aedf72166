import { expect, test } from "vitest";
import { userIdentity } from "../../src/message/identity.js";
import type { Rejection } from "../../src/ports/rejections.js";
import { ofUsers } from "../../src/rules/purging.js";

type Fields = Partial<Pick<Rejection, "identities" | "excerpt">>;

test.each<[string, string[], Fields, boolean]>([
  ["one of the users it names", ["ann"], { identities: ["u:ben", "u:ann"] }, true],
  ["an anonymous id of the same text", ["ann"], { identities: ["a:ann"] }, false],
  ["nobody of them", ["ann"], { identities: ["u:ben"], excerpt: '{"userId":"anna"}' }, false],
  ["in the text of another user's", ["ann"], { identities: ["u:ben"], excerpt: '{"friend":"ann"}' }, false],
  ["in the text", ["ann", "zoe"], { excerpt: '{"traits":{"friend":"ann"}}' }, true],
  ["in a text that is not JSON", ["ann"], { excerpt: `{'userId':'x", userId:"ann"` }, true],
  ["between quotes that do not belong together", [":"], { excerpt: '{"a":"b"}' }, true],
  ["as a key", ["type"], { excerpt: '{ "type" : "track"}' }, false],
  ["as a value after a key of its name", ["type"], { excerpt: '{"type":"type"}' }, true],
  ["in the text of another device's", ["ann"], { identities: ["a:phone"], excerpt: '{"by":"ann"}' }, false],
  ["cut in the middle", ["ann"], { excerpt: '{"userId":"an' }, false],
  ["with quotes in it", ['say "hi"'], { excerpt: JSON.stringify({ userId: 'say "hi"' }) }, true],
  ["with escapes in it", ["a\nb\\"], { excerpt: JSON.stringify({ userId: "a\nb\\" }) }, true],
  ["empty, which is nobody's id", [""], { excerpt: '{"userId":"","traits":{"city":""}}' }, false],
  ["no user at all", [], { identities: ["u:ann"], excerpt: '"ann"' }, false],
])("%s", (_case, userIds, fields, expected) => {
  expect(ofUsers(userIds.map(userIdentity))({ excerpt: "", ...fields })).toBe(expected);
});

test("a text is searched only for the requested ids", () => {
  const isOfThem = ofUsers(["u:mallory", "a:track"], ["u:mallory"]);
  expect(isOfThem({ excerpt: '{"type":"track","event":7}' })).toBe(false);
  expect(isOfThem({ excerpt: '{"by":"mallory"}' })).toBe(true);
  expect(isOfThem({ identities: ["a:track"], excerpt: "" })).toBe(true);
});
