import fc from "fast-check";
import { expect } from "vitest";
import { COMPARISONS } from "../../../../packages/protocol/src/conditions/conditions.js";
import { validateCondition } from "../../../../packages/protocol/src/conditions/validate-condition.js";
import { valueTarget } from "../../engine/target.js";
import { conditionHolds } from "./condition-holds.js";

const key = fc.constantFrom(
  ...[
    "kind",
    "conditions",
    "condition",
    "trait",
    "event",
    "audienceId",
    "is",
    "value",
    "times",
    "atLeast",
    "exactly",
  ],
  ...["withinMs", "where", "property", "__proto__", "constructor", "length"],
);
const word = fc.constantFrom(
  "and",
  "or",
  "not",
  "trait",
  "event",
  "audience",
  "a.b",
  "__proto__.x",
  "",
  ...COMPARISONS,
);
const { node } = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    fc.oneof(word, fc.jsonValue({ maxDepth: 1 }), fc.constantFrom(0, 1, -1, 1.5, 1e4, 2 ** 53, 1_000)),
    fc.array(tie("node"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("node")), { maxLength: 6 }).map((fields) => objectOf(fields)),
    fc.record({ kind: fc.constantFrom("and", "or"), conditions: fc.array(tie("node"), { maxLength: 3 }) }),
    fc.record({ kind: fc.constant("not"), condition: tie("node") }),
    fc.record({
      kind: fc.constant("trait"),
      trait: fc.string(),
      is: fc.constantFrom(...COMPARISONS),
      value: tie("node"),
    }),
  ),
}));

/** `__proto__` as a field of its own, as `JSON.parse` makes it. */
function objectOf(fields: readonly (readonly [string, unknown])[]): object {
  return Object.fromEntries(fields);
}

export const conditions = valueTarget({
  name: "conditions",
  rule: "a condition is refused with a path, or it can be evaluated for any traits and written as JSON without a change",
  runs: 1_500,
  values: fc.tuple(node, fc.jsonValue({ maxDepth: 3 })),
  check([tree, traits]) {
    const issues = validateCondition(tree);
    for (const { path } of issues) expect(path.startsWith("condition")).toBe(true);
    if (issues.length > 0) return;
    expect(validateCondition(JSON.parse(JSON.stringify(tree)))).toEqual([]);
    expect(typeof conditionHolds(tree as never, traits)).toBe("boolean");
  },
});
