import { isPlainObject } from "../messages/coerce.js";
import { parseTime } from "../messages/timestamps.js";
import { COMPARISONS, CONDITION_LIMITS, type Comparison } from "./conditions.js";

/** Why a condition tree is refused. */
export const CONDITION_ISSUES = {
  node_not_object: "A condition must be a JSON object",
  kind_unknown: "`kind` must be one of and, or, not, trait, event, audience",
  field_unknown: "This kind of condition has no such field",
  conditions_required: "`conditions` must be a list of at least one condition",
  condition_required: "`condition` must be a condition",
  name_required: "It must be a text of 1 to 1,000 characters",
  comparison_unknown: `\`is\` must be one of ${COMPARISONS.join(", ")}`,
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

/** A problem in a condition tree. */
export interface ConditionIssue {
  readonly code: ConditionIssueCode;
  /** The node or its field, such as `condition.conditions[1].times`. */
  readonly path: string;
  readonly message: string;
}

/** The issues of a condition tree; empty if it is a `Condition`. Does not check that the audiences it names exist. */
export function validateCondition(condition: unknown, path = "condition"): readonly ConditionIssue[] {
  const check = new ConditionCheck(path);
  check.condition(condition, path, 1);
  return check.issues;
}

/** The issues of `is` and `value` of a condition at `path`. */
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

/** Walks a condition tree and collects its issues. */
class ConditionCheck {
  readonly issues: ConditionIssue[] = [];
  readonly #root: string;
  #nodes = 0;

  constructor(root: string) {
    this.#root = root;
  }

  condition(node: unknown, at: string, depth: number): void {
    if (!this.#enter(at, depth)) return;
    if (!isPlainObject(node)) {
      this.#refuse("node_not_object", at);
      return;
    }
    switch (node.kind) {
      case "and":
      case "or":
        this.#conditions(node, at, depth);
        return;
      case "not":
        this.#knowsOnly(node, ["kind", "condition"], at);
        if (node.condition === undefined) this.#refuse("condition_required", `${at}.condition`);
        else this.condition(node.condition, `${at}.condition`, depth + 1);
        return;
      case "trait":
        this.#knowsOnly(node, ["kind", "trait", "is", "value"], at);
        checkName(node.trait, `${at}.trait`, this.#refuse);
        checkComparison(node, at, this.#refuse);
        return;
      case "event":
        this.#knowsOnly(node, ["kind", "event", "times", "withinMs", "where"], at);
        checkName(node.event, `${at}.event`, this.#refuse);
        checkTimes(node.times, `${at}.times`, this.#refuse);
        checkWithin(node.withinMs, `${at}.withinMs`, this.#refuse);
        this.#where(node.where, `${at}.where`);
        return;
      case "audience":
        this.#knowsOnly(node, ["kind", "audienceId"], at);
        checkName(node.audienceId, `${at}.audienceId`, this.#refuse);
        return;
      default:
        this.#refuse("kind_unknown", `${at}.kind`);
    }
  }

  #conditions(node: { readonly [field: string]: unknown }, at: string, depth: number): void {
    this.#knowsOnly(node, ["kind", "conditions"], at);
    const { conditions } = node;
    if (!Array.isArray(conditions) || conditions.length === 0) {
      this.#refuse("conditions_required", `${at}.conditions`);
      return;
    }
    for (const [index, child] of conditions.entries())
      this.condition(child, `${at}.conditions[${index}]`, depth + 1);
  }

  #where(where: unknown, at: string): void {
    if (where === undefined) return;
    if (!Array.isArray(where)) {
      this.#refuse("where_not_list", at);
      return;
    }
    for (const [index, test] of where.entries()) this.#propertyTest(test, `${at}[${index}]`);
  }

  #propertyTest(test: unknown, at: string): void {
    if (!this.#enter(at, 0)) return;
    if (!isPlainObject(test)) {
      this.#refuse("node_not_object", at);
      return;
    }
    this.#knowsOnly(test, ["property", "is", "value"], at);
    checkName(test.property, `${at}.property`, this.#refuse);
    checkComparison(test, at, this.#refuse);
  }

  /** False if the tree is over its limits; then nothing below is checked. */
  #enter(at: string, depth: number): boolean {
    this.#nodes += 1;
    if (this.#nodes === CONDITION_LIMITS.nodes + 1) this.#refuse("too_many", this.#root);
    if (depth > CONDITION_LIMITS.depth) this.#refuse("too_deep", at);
    return this.#nodes <= CONDITION_LIMITS.nodes && depth <= CONDITION_LIMITS.depth;
  }

  #knowsOnly(node: object, fields: readonly string[], at: string): void {
    for (const field of Object.keys(node))
      if (!fields.includes(field)) this.#refuse("field_unknown", `${at}.${field}`);
  }

  readonly #refuse: Refuse = (code, path) => {
    this.issues.push({ code, path, message: CONDITION_ISSUES[code] });
  };
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
  const code = valueIssue(is as Comparison, value);
  if (code !== undefined) refuse(code, `${path}.value`);
}

function valueIssue(is: Comparison, value: unknown): ConditionIssueCode | undefined {
  switch (is) {
    case "exists":
      return value === undefined || typeof value === "boolean" ? undefined : "value_not_boolean";
    case "in":
      return isScalarList(value) ? undefined : "value_not_list";
    case "less":
    case "greater":
      if (value === undefined) return "value_required";
      return typeof value === "number" || parseTime(value) !== undefined ? undefined : "value_not_comparable";
    case "equals":
    case "not_equals":
    case "contains":
      if (value === undefined) return "value_required";
      return isScalar(value) ? undefined : "value_not_scalar";
    default:
      return is satisfies never;
  }
}

function isScalarList(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= CONDITION_LIMITS.values &&
    value.every(isScalar)
  );
}

function isScalar(value: unknown): boolean {
  return (
    (typeof value === "string" && value.length <= CONDITION_LIMITS.textLength) ||
    typeof value === "number" ||
    typeof value === "boolean"
  );
}
