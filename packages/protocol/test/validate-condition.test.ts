import { describe, expect, test } from "vitest";
import { type Condition, validateCondition } from "../src/index.js";

const GOOD: readonly (readonly [string, Condition])[] = [
  ["a trait", { kind: "trait", trait: "plan", is: "equals", value: "pro" }],
  ["exists without a value", { kind: "trait", trait: "plan", is: "exists" }],
  ["exists: false", { kind: "trait", trait: "plan", is: "exists", value: false }],
  ["a list", { kind: "trait", trait: "plan", is: "in", value: ["pro", 1, true] }],
  ["a time", { kind: "trait", trait: "since", is: "less", value: "2026-01-01" }],
  ["an event", { kind: "event", event: "Order", times: { atLeast: 1 } }],
  ["never", { kind: "event", event: "Order", times: { exactly: 0 }, withinMs: 1_000 }],
  [
    "all of it",
    {
      kind: "and",
      conditions: [
        { kind: "or", conditions: [{ kind: "audience", audienceId: "aud_1" }] },
        {
          kind: "not",
          condition: {
            kind: "event",
            event: "Order",
            times: { atMost: 3 },
            withinMs: 86_400_000,
            where: [{ property: "price", is: "greater", value: 10 }],
          },
        },
      ],
    },
  ],
];

const BAD: readonly (readonly [string, unknown, code: string, path: string])[] = [
  ["no object", "plan = pro", "node_not_object", "condition"],
  ["null", null, "node_not_object", "condition"],
  ["an unknown kind", { kind: "xor" }, "kind_unknown", "condition.kind"],
  ["an empty list", { kind: "and", conditions: [] }, "conditions_required", "condition.conditions"],
  ["no condition", { kind: "not" }, "condition_required", "condition.condition"],
  [
    "deep inside",
    {
      kind: "and",
      conditions: [
        { kind: "trait", trait: "a", is: "exists" },
        { kind: "not", condition: { kind: "trait", trait: "a", is: "like", value: "x" } },
      ],
    },
    "comparison_unknown",
    "condition.conditions[1].condition.is",
  ],
  ["no trait", { kind: "trait", is: "exists" }, "name_required", "condition.trait"],
  ["an empty event", { kind: "event", event: "", times: { atLeast: 1 } }, "name_required", "condition.event"],
  ["no value", { kind: "trait", trait: "a", is: "equals" }, "value_required", "condition.value"],
  [
    "null as value",
    { kind: "trait", trait: "a", is: "equals", value: null },
    "value_not_scalar",
    "condition.value",
  ],
  [
    "a list for equals",
    { kind: "trait", trait: "a", is: "equals", value: [1] },
    "value_not_scalar",
    "condition.value",
  ],
  [
    "no list for in",
    { kind: "trait", trait: "a", is: "in", value: "a" },
    "value_not_list",
    "condition.value",
  ],
  [
    "less than a word",
    { kind: "trait", trait: "a", is: "less", value: "b" },
    "value_not_comparable",
    "condition.value",
  ],
  ["no times", { kind: "event", event: "E" }, "times_required", "condition.times"],
  [
    "two times",
    { kind: "event", event: "E", times: { atLeast: 1, atMost: 2 } },
    "times_required",
    "condition.times",
  ],
  [
    "at least none",
    { kind: "event", event: "E", times: { atLeast: 0 } },
    "times_not_integer",
    "condition.times.atLeast",
  ],
  [
    "half a time",
    { kind: "event", event: "E", times: { exactly: 1.5 } },
    "times_not_integer",
    "condition.times.exactly",
  ],
  [
    "a window in words",
    { kind: "event", event: "E", times: { atLeast: 1 }, withinMs: "7d" },
    "within_not_integer",
    "condition.withinMs",
  ],
  [
    "a property test",
    { kind: "event", event: "E", times: { atLeast: 1 }, where: [{ property: "p", is: "in", value: [] }] },
    "value_not_list",
    "condition.where[0].value",
  ],
  [
    "a field that is misspelt",
    { kind: "event", event: "E", times: { atLeast: 1 }, withinMS: 1 },
    "field_unknown",
    "condition.withinMS",
  ],
];

describe("validateCondition", () => {
  test.each(GOOD)("takes %s", (_what, condition) => {
    expect(validateCondition(condition)).toEqual([]);
  });

  test.each(BAD)("refuses %s, at the node", (_what, condition, code, path) => {
    expect(validateCondition(condition)).toEqual([expect.objectContaining({ code, path })]);
  });

  test("names every node that is wrong", () => {
    const issues = validateCondition({ kind: "or", conditions: [{ kind: "trait" }, 7] });
    expect(issues.map((issue) => issue.path)).toEqual([
      "condition.conditions[0].trait",
      "condition.conditions[0].is",
      "condition.conditions[1]",
    ]);
  });

  test("refuses a tree that is too deep or too wide, once", () => {
    let deep: unknown = { kind: "trait", trait: "a", is: "exists" };
    for (let level = 0; level < 50; level++) deep = { kind: "not", condition: deep };
    expect(validateCondition(deep).map((issue) => issue.code)).toEqual(["too_deep"]);
    const wide = { kind: "or", conditions: Array(500).fill({ kind: "trait", trait: "a", is: "exists" }) };
    expect(validateCondition(wide).map((issue) => issue.code)).toEqual(["too_many"]);
  });
});
