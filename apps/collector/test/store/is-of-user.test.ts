import { expect, test } from "vitest";
import { userIdentity } from "../../src/messages/identity.js";
import { ofUsers } from "../../src/store/is-of-user.js";
import type { Rejection } from "../../src/store/store.js";

type Fields = Partial<Pick<Rejection, "users" | "identities" | "excerpt">>;

test.each<[string, string[], Fields, boolean]>([
  ["one of the users it names", ["ann"], { identities: ["u:ben", "u:ann"] }, true],
  ["one of the users an older version noted", ["ann"], { users: ["ben", "ann"] }, true],
  ["an anonymous id of the same text", ["ann"], { identities: ["a:ann"] }, false],
  ["nobody of them", ["ann"], { identities: ["u:ben"], excerpt: '{"userId":"anna"}' }, false],
  ["in the text of another user's", ["ann"], { identities: ["u:ben"], excerpt: '{"friend":"ann"}' }, false],
  ["in the text", ["ann", "zoe"], { excerpt: '{"traits":{"friend":"ann"}}' }, true],
  ["in a text that is not JSON", ["ann"], { excerpt: `{'userId':'x", userId:"ann"` }, true],
  ["between quotes that do not belong together", [":"], { excerpt: '{"a":"b"}' }, true],
  ["cut in the middle", ["ann"], { excerpt: '{"userId":"an' }, false],
  ["with quotes in it", ['say "hi"'], { excerpt: JSON.stringify({ userId: 'say "hi"' }) }, true],
  ["with escapes in it", ["a\nb\\"], { excerpt: JSON.stringify({ userId: "a\nb\\" }) }, true],
  ["empty", [""], { excerpt: '{"userId":""}' }, true],
  ["no user at all", [], { users: ["ann"], excerpt: '"ann"' }, false],
])("%s", (_case, userIds, fields, expected) => {
  expect(ofUsers(userIds.map(userIdentity))({ excerpt: "", ...fields })).toBe(expected);
});
