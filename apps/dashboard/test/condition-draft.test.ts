import { type Condition, validateCondition } from "@sluice/protocol";
import { expect, test } from "vitest";
import {
  comparisonDraftOf,
  comparisonOf,
  jsonOf,
  scalarOf,
} from "../src/forms/comparison/comparison-draft.js";
import {
  conditionInWords,
  conditionOf,
  draftOf,
  newEvent,
  newGroup,
  newTrait,
  withNode,
} from "../src/pages/audiences/conditions/condition-draft.js";

const EVENT: Condition = {
  kind: "event",
  event: "Order Completed",
  times: { exactly: 3 },
  withinMs: 36 * 3_600_000,
  where: [
    { property: "total", is: "greater", value: 20 },
    { property: "coupon", is: "exists" },
    { property: "sku", is: "in", value: ["a", 7] },
    { property: "refund", is: "exists", value: false },
  ],
};

test.each<[string, Condition]>([
  ["events with a window and properties", { kind: "and", conditions: [EVENT] }],
  [
    "groups in groups, negated",
    {
      kind: "or",
      conditions: [
        {
          kind: "not",
          condition: { kind: "and", conditions: [EVENT, { kind: "audience", audienceId: "aud_1" }] },
        },
        { kind: "not", condition: { kind: "trait", trait: "plan", is: "equals", value: "pro" } },
      ],
    },
  ],
  [
    "a negated root",
    { kind: "not", condition: { kind: "or", conditions: [{ kind: "audience", audienceId: "aud_1" }] } },
  ],
  [
    "values of every kind",
    {
      kind: "and",
      conditions: [
        { kind: "trait", trait: "a", is: "equals", value: 1.5 },
        { kind: "trait", trait: "b", is: "not_equals", value: true },
        { kind: "trait", trait: "c", is: "equals", value: "42" },
        { kind: "trait", trait: "d", is: "contains", value: "7" },
        { kind: "trait", trait: "e", is: "exists", value: false },
        { kind: "event", event: "E", times: { atMost: 2 }, withinMs: 5_000 },
      ],
    },
  ],
])("%s are the same after having been edited", (_, condition) => {
  expect(conditionOf(draftOf(condition))).toEqual(condition);
  expect(validateCondition(condition)).toEqual([]);
});

test("a root that is not a group is wrapped in one", () => {
  expect(conditionOf(draftOf(EVENT))).toEqual({ kind: "and", conditions: [EVENT] });
});

test("replaces or removes a node at any depth", () => {
  const leaf = newTrait("plan");
  const root = newGroup([newEvent("A"), newGroup([leaf, newEvent("B")])]);
  const changed = withNode(root, leaf.node, { ...leaf, name: "tier" });
  expect(JSON.stringify(conditionOf(changed))).toContain('"tier"');
  expect(JSON.stringify(conditionOf(withNode(root, leaf.node, undefined)))).not.toContain("plan");
});

test("incomplete parts are left to the validator", () => {
  const issues = validateCondition(conditionOf(newGroup([newEvent(), newTrait("plan")])));
  expect(issues.map(({ code, path }) => [code, path])).toEqual([
    ["name_required", "condition.conditions[0].event"],
    ["value_required", "condition.conditions[1].value"],
  ]);
});

test.each([
  ["42", 42],
  ["-1.5", -1.5],
  ["007", "007"],
  ["1e3", "1e3"],
  ["true", true],
  ['"42"', "42"],
  ["pro", "pro"],
  ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"],
])("%s is read as %j", (text, value) => expect(scalarOf(text)).toBe(value));

test("a condition in words", () => {
  expect(conditionInWords(EVENT, (id) => id)).toBe(
    "Did “Order Completed” exactly 3 times within the last 1 d 12 h, where total is greater than 20 and coupon is set and sku is one of a, 7 and refund is not set",
  );
});

test.each<[unknown]>([
  [""],
  ["42"],
  ["true"],
  ['"42"'],
  ['say "hi", twice'],
  ["a, b"],
  [" blank around "],
  ["back\\slash"],
  ["{not json"],
  ["[1]"],
  ["null"],
  [0.1],
  [-3],
  [1e21],
  [false],
  [["a, b", "c", 'd "e"', "", 7, "7", true, " f "]],
])("%j survives editing", (value) => {
  const is = Array.isArray(value) ? "in" : "equals";
  const draft = comparisonDraftOf({ is, value });
  expect(comparisonOf(draft, scalarOf)).toEqual({ is, value });
  expect(comparisonOf(draft, jsonOf)).toEqual({ is, value });
});

test.each<[unknown]>([[null], [{ a: [1] }]])("a filter also compares with %j", (value) => {
  expect(comparisonOf(comparisonDraftOf({ is: "equals", value }), jsonOf)).toEqual({ is: "equals", value });
});
