import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { COMPARISONS, type Comparison, type ComparisonValue, compare, lookUp } from "../src/index.js";

/** `JSON.rawJSON`, which TypeScript's library does not know yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** A number that no double holds, as the log's parser keeps it. */
const HUGE = rawJSON("12345678901234567890");

const CASES: readonly (readonly [
  what: string,
  seen: unknown,
  is: Comparison,
  value: ComparisonValue | undefined,
  holds: boolean,
])[] = [
  ["equal texts", "pro", "equals", "pro", true],
  ["case counts", "Pro", "equals", "pro", false],
  ["a number is not its text", "1", "equals", 1, false],
  ["true is not a text", true, "equals", "true", false],
  ["nothing equals nothing", undefined, "equals", "x", false],
  ["nothing is not equal to anything", undefined, "not_equals", "x", true],
  ["a list is no scalar", ["a"], "equals", "a", false],
  ["exists", 0, "exists", undefined, true],
  ["an empty text exists", "", "exists", undefined, true],
  ["null does not exist", null, "exists", undefined, false],
  ["does not exist", undefined, "exists", false, true],
  ["a part of a text", "gold plan", "contains", "old", true],
  ["an element of a list", ["a", 2], "contains", 2, true],
  ["a part of an element", ["gold"], "contains", "old", false],
  ["a text in a number", 123, "contains", "2", false],
  ["less", 1, "less", 2, true],
  ["not less when equal", 2, "less", 2, false],
  ["a number as text", "19.50", "less", 20, true],
  ["a negative one with an exponent", "-1e3", "less", 0, true],
  ["a number with a point at its end", "19.", "less", 20, true],
  ["a number with a point at its beginning", ".5", "less", 1, true],
  // Minutes, if the digits could be split in more than one way.
  ["digits without end that are no number", `${"1".repeat(500_000)}x`, "greater", 0, false],
  ["a word is not comparable", "many", "greater", 0, false],
  ["an empty text is no zero", "", "less", 1, false],
  ["times", "2026-01-02", "greater", "2026-01-01T23:59:59.999Z", true],
  ["times of other zones", "2026-01-01T01:00:00+02:00", "less", "2026-01-01T00:00:00Z", true],
  ["a time and a number", 5, "less", "2026-01-01", false],
  ["nothing is not less", undefined, "less", 1, false],
  ["in", "b", "in", ["a", "b"], true],
  ["not in by type", "1", "in", [1, 2], false],
  ["nothing is in nothing", undefined, "in", ["a"], false],
  ["digits that a double cannot hold compare", HUGE, "greater", 1e19, true],
  ["and exist", HUGE, "exists", undefined, true],
  ["digits are the same as the number that they stand for", HUGE, "equals", 12345678901234567e3, true],
  ["digits are another number", HUGE, "equals", 1, false],
];

describe("compare", () => {
  test.each(CASES)("%s", (_what, seen, is, value, holds) => {
    expect(compare(seen, is, value)).toBe(holds);
  });
});

test("docs/reference/conditions.md has a row for each comparison, and for no other", () => {
  const page = readFileSync(new URL("../../../docs/reference/conditions.md", import.meta.url), "utf8");
  expect([...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name).slice(1)).toEqual([...COMPARISONS]);
});

describe("lookUp", () => {
  const values = { a: { b: { c: 1 } }, "a.b": "whole", n: null, list: [1] };

  test.each([
    ["a", { b: { c: 1 } }],
    ["a.b", "whole"],
    ["a.b.c", 1],
    ["a.x", undefined],
    ["n", undefined],
    ["n.x", undefined],
    ["list.0", undefined],
    ["constructor", undefined],
    ["a.constructor.name", undefined],
    ["__proto__.toString", undefined],
  ])("%s", (name, found) => {
    expect(lookUp(values, name)).toEqual(found);
  });

  test("finds nothing in what is no object", () => {
    for (const none of [undefined, null, "text", 7, ["a"], HUGE]) expect(lookUp(none, "a")).toBeUndefined();
  });
});
