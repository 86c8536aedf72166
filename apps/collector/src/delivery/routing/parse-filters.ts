import type { FilterRuleView } from "@sluice/control-api";
import { isPlainObject, validateComparison } from "@sluice/protocol";
import type { SettingsIssue } from "../../destinations/destination.js";

export type FiltersResult =
  | { readonly ok: true; readonly rules: readonly FilterRuleView[] }
  | { readonly ok: false; readonly issues: readonly SettingsIssue[] };

const MOST_RULES = 50;
const RULE_KEYS = new Set(["kinds", "events", "where", "action"]);

/** Parses and checks a destination's filter rules. */
export function parseFilters(input: unknown): FiltersResult {
  const issues: SettingsIssue[] = [];
  const check = (holds: boolean, path: string, message: string): void => {
    if (!holds) issues.push({ path, code: "invalid_filter", message });
  };
  if (!Array.isArray(input)) {
    return {
      ok: false,
      issues: [{ path: "filters", code: "invalid_filter", message: "filters must be a list of rules" }],
    };
  }
  check(input.length <= MOST_RULES, "filters", `A destination has at most ${MOST_RULES} rules`);
  for (const [index, rule] of input.entries()) {
    const at = `filters[${index}]`;
    if (!isPlainObject(rule)) {
      check(false, at, "A rule must be an object with an action");
      continue;
    }
    for (const key of Object.keys(rule)) check(RULE_KEYS.has(key), `${at}.${key}`, `A rule has no ${key}`);
    for (const key of ["kinds", "events"]) {
      check(
        rule[key] === undefined || isTextList(rule[key]),
        `${at}.${key}`,
        `${key} must be a list of names`,
      );
    }
    checkConditions(rule.where, `${at}.where`, check);
    checkAction(rule.action, `${at}.action`, check);
  }
  return issues.length === 0 ? { ok: true, rules: input as FilterRuleView[] } : { ok: false, issues };
}

type Check = (holds: boolean, path: string, message: string) => void;

function checkConditions(where: unknown, at: string, check: Check): void {
  if (where === undefined) return;
  if (!Array.isArray(where)) {
    check(false, at, "where must be a list of conditions");
    return;
  }
  for (const [index, condition] of where.entries()) {
    const place = `${at}[${index}]`;
    if (!isPlainObject(condition)) {
      check(false, place, "A condition must be an object with path and is");
      continue;
    }
    check(
      typeof condition.path === "string" && condition.path !== "",
      `${place}.path`,
      "path must name a field, such as properties.plan",
    );
    for (const { path, message } of validateComparison(condition, place)) check(false, path, message);
  }
}

function checkAction(action: unknown, at: string, check: Check): void {
  if (!isPlainObject(action)) {
    check(false, at, "action must be an object with a kind: drop, sample or remove");
    return;
  }
  switch (action.kind) {
    case "drop":
      return;
    case "sample":
      check(
        typeof action.share === "number" && action.share >= 0 && action.share <= 1,
        `${at}.share`,
        "share must be a number from 0 to 1",
      );
      return;
    case "remove":
      check(
        isTextList(action.paths) && action.paths.length > 0,
        `${at}.paths`,
        "paths must be a list of fields, such as properties.email",
      );
      return;
    default:
      check(false, `${at}.kind`, "kind must be drop, sample or remove");
  }
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string" && item !== "");
}
