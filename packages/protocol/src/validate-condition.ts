import { isPlainObject } from "./coerce.js";
import { COMPARISONS, CONDITION_LIMITS, type Comparison } from "./conditions.js";
import { parseTime } from "./timestamps.js";

/** Why a condition tree is refused. */
export const CONDITION_ISSUES = {
  node_not_object: "A condition must be a JSON object",
  kind_unknown: "`kind` must be one of and, or, not, trait, event, audience",
  field_unknown: "This kind of condition has no such field",
  conditions_required: "`conditions` must be a list of at least one condition",
  condition_required: "`condition` must be a condition",
  name_required: "It must be a text of 1 to 1,000 characters",
  comparison_unknown: "`is` must be one of equals, not_equals, exists, contains, less, greater, in",
  value_required: "This comparison needs a `value`: a text, a number, true or false",
  value_not_scalar: "`value` must be a text of at most 1,000 characters, a number, true or false",
  value_not_list: "`in` needs a list of 1 to 1,000 texts, numbers, true or false",
  value_not_comparable: "`less` and `greater` compare a number, or a time as ISO 8601 text",
  value_not_boolean: "`exists` takes no `value`, or true, or false for `does not exist`",
  times_required: "`times` must have exactly one of atLeast, atMost and exactly",
  times_not_integer: "It must be a whole number from 0 (atLeast: 1) to 10,000",
  within_not_integer: "`withinMs` must be a whole number of milliseconds, from 1,000 to ten years",
  where_not_list: "`where` must be a list of property tests",
  too_deep: "Conditions are nested more than 20 deep",
  too_many: "There are more than 200 conditions",
} as const;

export type ConditionIssueCode = keyof typeof CONDITION_ISSUES;

/** One thing that is wrong with a condition tree. */
export interface ConditionIssue {
  readonly code: ConditionIssueCode;
  /** The node or its field, such as `condition.conditions[1].times`. */
  readonly path: string;
  readonly message: string;
}

/** What is wrong with a condition tree; empty when it is a `Condition`. Whether audiences that it names exist is not its matter. */
export function validateCondition(condition: unknown, path = "condition"): readonly ConditionIssue[] {
  const issues: ConditionIssue[] = [];
  let nodes = 0;
  const refuse = (code: ConditionIssueCode, at: string): void => {
    issues.push({ code, path: at, message: CONDITION_ISSUES[code] });
  };

  /** False when the tree is over its bounds: nothing below is looked at then. */
  const enter = (at: string, depth: number): boolean => {
    nodes += 1;
    if (nodes === CONDITION_LIMITS.nodes + 1) refuse("too_many", path);
    if (depth > CONDITION_LIMITS.depth) refuse("too_deep", at);
    return nodes <= CONDITION_LIMITS.nodes && depth <= CONDITION_LIMITS.depth;
  };

  const knowsOnly = (node: object, fields: readonly string[], at: string): void => {
    for (const field of Object.keys(node))
      if (!fields.includes(field)) refuse("field_unknown", `${at}.${field}`);
  };

  const check = (node: unknown, at: string, depth: number): void => {
    if (!enter(at, depth)) return;
    if (!isPlainObject(node)) {
      refuse("node_not_object", at);
      return;
    }
    switch (node.kind) {
      case "and":
      case "or":
        knowsOnly(node, ["kind", "conditions"], at);
        if (!Array.isArray(node.conditions) || node.conditions.length === 0) {
          refuse("conditions_required", `${at}.conditions`);
          return;
        }
        node.conditions.forEach((child, index) => {
          check(child, `${at}.conditions[${index}]`, depth + 1);
        });
        return;
      case "not":
        knowsOnly(node, ["kind", "condition"], at);
        if (node.condition === undefined) refuse("condition_required", `${at}.condition`);
        else check(node.condition, `${at}.condition`, depth + 1);
        return;
      case "trait":
        knowsOnly(node, ["kind", "trait", "is", "value"], at);
        checkName(node.trait, `${at}.trait`, refuse);
        checkComparison(node, at, refuse);
        return;
      case "event":
        knowsOnly(node, ["kind", "event", "times", "withinMs", "where"], at);
        checkName(node.event, `${at}.event`, refuse);
        checkTimes(node.times, `${at}.times`, refuse);
        checkWithin(node.withinMs, `${at}.withinMs`, refuse);
        checkWhere(node.where, `${at}.where`);
        return;
      case "audience":
        knowsOnly(node, ["kind", "audienceId"], at);
        checkName(node.audienceId, `${at}.audienceId`, refuse);
        return;
      default:
        refuse("kind_unknown", `${at}.kind`);
    }
  };

  const checkWhere = (where: unknown, at: string): void => {
    if (where === undefined) return;
    if (!Array.isArray(where)) {
      refuse("where_not_list", at);
      return;
    }
    where.forEach((test, index) => {
      const testAt = `${at}[${index}]`;
      if (!enter(testAt, 0)) return;
      if (!isPlainObject(test)) {
        refuse("node_not_object", testAt);
        return;
      }
      knowsOnly(test, ["property", "is", "value"], testAt);
      checkName(test.property, `${testAt}.property`, refuse);
      checkComparison(test, testAt, refuse);
    });
  };

  check(condition, path, 1);
  return issues;
}

/** What is wrong with `is` and `value` of a condition. `path` is the condition's. */
export function validateComparison(
  condition: { readonly is?: unknown; readonly value?: unknown },
  path: string,
): readonly ConditionIssue[] {
  const issues: ConditionIssue[] = [];
  checkComparison(condition, path, (code, at) => {
    issues.push({ code, path: at, message: CONDITION_ISSUES[code] });
  });
  return issues;
}

type Refuse = (code: ConditionIssueCode, path: string) => void;

function checkName(name: unknown, path: string, refuse: Refuse): void {
  if (typeof name !== "string" || name === "" || name.length > CONDITION_LIMITS.textLength)
    refuse("name_required", path);
}

function checkWithin(withinMs: unknown, path: string, refuse: Refuse): void {
  if (withinMs === undefined) return;
  const fits =
    Number.isInteger(withinMs) &&
    (withinMs as number) >= 1_000 &&
    (withinMs as number) <= CONDITION_LIMITS.withinMs;
  if (!fits) refuse("within_not_integer", path);
}

function checkTimes(times: unknown, path: string, refuse: Refuse): void {
  const [entry, ...others] = isPlainObject(times) ? Object.entries(times) : [];
  if (entry === undefined || others.length > 0 || !["atLeast", "atMost", "exactly"].includes(entry[0])) {
    refuse("times_required", path);
    return;
  }
  const [bound, count] = entry;
  const least = bound === "atLeast" ? 1 : 0;
  if (!Number.isInteger(count) || (count as number) < least || (count as number) > CONDITION_LIMITS.times)
    refuse("times_not_integer", `${path}.${bound}`);
}

function checkComparison(
  node: { readonly is?: unknown; readonly value?: unknown },
  path: string,
  refuse: Refuse,
): void {
  const { is, value } = node;
  if (!(COMPARISONS as readonly unknown[]).includes(is)) {
    refuse("comparison_unknown", `${path}.is`);
    return;
  }
  const at = `${path}.value`;
  const comparison = is as Comparison;
  switch (comparison) {
    case "exists":
      if (value !== undefined && typeof value !== "boolean") refuse("value_not_boolean", at);
      return;
    case "in":
      if (
        !Array.isArray(value) ||
        value.length === 0 ||
        value.length > CONDITION_LIMITS.values ||
        !value.every(isScalar)
      )
        refuse("value_not_list", at);
      return;
    case "less":
    case "greater":
      if (value === undefined) refuse("value_required", at);
      else if (typeof value !== "number" && parseTime(value) === undefined)
        refuse("value_not_comparable", at);
      return;
    case "equals":
    case "not_equals":
    case "contains":
      if (value === undefined) refuse("value_required", at);
      else if (!isScalar(value)) refuse("value_not_scalar", at);
      return;
    default:
      comparison satisfies never;
  }
}

function isScalar(value: unknown): boolean {
  return (
    (typeof value === "string" && value.length <= CONDITION_LIMITS.textLength) ||
    typeof value === "number" ||
    typeof value === "boolean"
  );
}
