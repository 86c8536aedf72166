import { expect, test } from "vitest";
import { ofUsers } from "../../src/store/is-of-user.js";

const rejection = (fields: { excerpt?: string; users?: readonly string[] }) => ({ excerpt: "", ...fields });

test.each<[string, string[], { excerpt?: string; users?: string[] }, boolean]>([
  ["one of the users it names", ["ann"], { users: ["ben", "ann"] }, true],
  ["nobody of them", ["ann"], { users: ["ben"], excerpt: '{"userId":"anna"}' }, false],
  ["in the text", ["ann", "zoe"], { excerpt: '{"traits":{"friend":"ann"}}' }, true],
  ["in a text that is not JSON", ["ann"], { excerpt: `{'userId':'x", userId:"ann"` }, true],
  ["between quotes that do not belong together", [":"], { excerpt: '{"a":"b"}' }, true],
  ["cut in the middle", ["ann"], { excerpt: '{"userId":"an' }, false],
  ["with quotes in it", ['say "hi"'], { excerpt: JSON.stringify({ userId: 'say "hi"' }) }, true],
  ["with escapes in it", ["a\nb\\"], { excerpt: JSON.stringify({ userId: "a\nb\\" }) }, true],
  ["empty", [""], { excerpt: '{"userId":""}' }, true],
  ["no user at all", [], { users: ["ann"], excerpt: '"ann"' }, false],
])("%s", (_case, userIds, fields, expected) => {
  expect(ofUsers(userIds)(rejection(fields))).toBe(expected);
  const byEach = userIds.some(
    (id) => fields.users?.includes(id) === true || fields.excerpt?.includes(JSON.stringify(id)) === true,
  );
  expect(byEach).toBe(expected);
});
