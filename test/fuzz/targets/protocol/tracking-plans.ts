import fc from "fast-check";
import { expect } from "vitest";
import { planIssues, requestBudget } from "../../../../packages/protocol/src/plans/check-message.js";
import {
  BOUNDS,
  FORMAT_NAMES,
  JSON_TYPES,
  PLAN_LIMITS,
} from "../../../../packages/protocol/src/plans/plan.js";
import { planOfExport, readPlan } from "../../../../packages/protocol/src/plans/read-plan.js";
import { valueTarget } from "../../engine/target.js";

const name = fc.constantFrom("A", "B", "a/b~c", "__proto__", "constructor", "");
const keyword = fc.constantFrom(
  ...[
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
  ],
  ...["pattern", "format", "$ref", "$defs", "title", "__proto__", "toString", ...BOUNDS],
);
const scalar = fc.constantFrom<unknown>(
  ...[...JSON_TYPES, ...FORMAT_NAMES, "#/$defs/A", "#/definitions/B", "^a+$", "(a|b)*c", "[", "A", "B"],
  ...[0, 1, -1, 2.5, 1e308, 0.1, null, true, false],
);
const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    scalar,
    fc.array(tie("schema"), { maxLength: 4 }),
    fc
      .array(fc.tuple(fc.oneof(keyword, name), tie("schema")), { maxLength: 5 })
      .map((fields) => Object.fromEntries(fields)),
    fc.record(
      {
        type: fc.constantFrom(...JSON_TYPES),
        properties: fc.dictionary(name, tie("schema"), { maxKeys: 3 }),
      },
      { requiredKeys: [] },
    ),
    fc.record(
      { pattern: fc.constantFrom("^a*$", "a{2,5}b", "(a|a)*b", "\\d+"), minLength: fc.nat() },
      { requiredKeys: [] },
    ),
  ),
}));
const plan = fc.record(
  {
    name: fc.oneof(fc.string(), scalar),
    track: fc.oneof(fc.dictionary(name, schema, { maxKeys: 3 }), schema),
    page: schema,
    identify: schema,
    alias: schema,
    $defs: fc.oneof(fc.dictionary(name, schema, { maxKeys: 3 }), schema),
    unplanned: fc.constantFrom("allow", "violation", 1),
    rules: schema,
    extra: schema,
  },
  { requiredKeys: [] },
);
const message = fc.record({
  type: fc.constantFrom("track", "page", "identify", "alias", "group"),
  event: name,
  name,
  userId: fc.string(),
  properties: fc.dictionary(name, fc.jsonValue({ maxDepth: 4 })),
  traits: fc.jsonValue({ maxDepth: 4 }),
});

export const trackingPlans = valueTarget({
  name: "tracking-plans",
  rule: "a plan is refused with at most a few mistakes, or any message can be checked within the budget of steps",
  runs: 1_000,
  values: fc.tuple(plan, message),
  check([json, checked]) {
    const reading = readPlan(json);
    const exported = planOfExport(json as never);
    if (exported !== undefined) readPlan(exported);
    if (reading.kind === "invalid") {
      expect(reading.issues.length).toBeGreaterThan(0);
      for (const { path } of reading.issues) expect(path === "" || path.startsWith("/")).toBe(true);
      return;
    }
    const budget = requestBudget(100);
    const issues = planIssues(checked as never, reading.plan, budget);
    expect(issues.length).toBeLessThanOrEqual(PLAN_LIMITS.violations + 1);
    expect(budget.stepsLeft).toBeGreaterThan(-PLAN_LIMITS.stepsPerMessage);
    expect(readPlan(JSON.parse(JSON.stringify(json)))).toEqual(reading);
  },
});
