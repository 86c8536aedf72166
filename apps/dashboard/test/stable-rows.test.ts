import { expect, test } from "vitest";
import { stableRows } from "../src/ui/data/stable-rows.js";

const rowsOf = (shown: string, fresh: string) => {
  const { rows, newer } = stableRows([...shown], [...fresh], (item) => item);
  return [rows.map(({ item, isGone }) => (isGone ? `(${item})` : item)).join(""), newer];
};

test.each([
  ["nothing has changed", "abc", "abc", ["abc", 0]],
  ["newer items are counted", "abc", "xyabc", ["abc", 2]],
  ["also between rows", "abc", "axbc", ["abc", 1]],
  ["a row that is gone keeps its place", "abc", "ac", ["a(b)c", 0]],
  ["also if it was the last", "abc", "ab", ["ab(c)", 0]],
  ["the next page is added", "abc", "abcde", ["abcde", 0]],
  ["the first rows", "", "abc", ["abc", 0]],
  ["all rows are gone", "abc", "", ["(a)(b)(c)", 0]],
  ["all rows are replaced", "abc", "xy", ["(a)(b)(c)", 2]],
])("%s", (_name, shown, fresh, expected) => expect(rowsOf(shown, fresh)).toEqual(expected));
