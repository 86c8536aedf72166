import { type Condition, validateCondition } from "@sluice/protocol";
import { expect, test } from "vitest";
import {
  conditionOf,
  draftOf,
  newEvent,
  newGroup,
  newTrait,
  scalarOf,
  withNode,
} from "../src/pages/audiences/condition-draft.js";
import { conditionInWords } from "../src/pages/audiences/condition-words.js";

const EVENT: Condition = {
  kind: "event",
  event: "Order Completed",
  times: { exactly: 3 },
  withinMs: 36 * 3_600_000,
  where: [
    { property: "total", is: "greater", value: 20 },
    { property: "coupon", is: "exists" },
    { property: "sku", is: "in", value: ["a", 7] },
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
    "values of every kind",
    {
      kind: "and",
      conditions: [
        { kind: "trait", trait: "a", is: "equals", value: 1.5 },
        { kind: "trait", trait: "b", is: "not_equals", value: true },
        { kind: "trait", trait: "c", is: "equals", value: "42" },
        { kind: "trait", trait: "d", is: "contains", value: "7" },
      ],
    },
  ],
])("%s are the same after having been edited", (_, condition) => {
  expect(conditionOf(draftOf(condition))).toEqual(condition);
  expect(validateCondition(condition)).toEqual([]);
});

test("a root that is no group becomes one, which means the same", () => {
  expect(conditionOf(draftOf(EVENT))).toEqual({ kind: "and", conditions: [EVENT] });
});

test("`exists: false` is shown as the negation", () => {
  const draft = draftOf({ kind: "trait", trait: "email", is: "exists", value: false });
  expect(conditionOf(draft)).toEqual({
    kind: "and",
    conditions: [{ kind: "not", condition: { kind: "trait", trait: "email", is: "exists" } }],
  });
});

test("a node is replaced or taken out wherever it is", () => {
  const leaf = newTrait("plan");
  const root = newGroup([newEvent("A"), newGroup([leaf, newEvent("B")])]);
  const changed = withNode(root, leaf.node, { ...leaf, name: "tier" });
  expect(JSON.stringify(conditionOf(changed))).toContain('"tier"');
  expect(JSON.stringify(conditionOf(withNode(root, leaf.node, undefined)))).not.toContain("plan");
});

test("what is not complete is left for the validator to name", () => {
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
    "Did “Order Completed” exactly 3 times within the last 1 d 12 h, where total is greater than 20 and coupon is set and sku is one of a, 7",
  );
});
