import type { FilterRuleView } from "@sluice/control-api";
import {
  type ComparisonDraft,
  comparisonDraftOf,
  comparisonOf,
  jsonOf,
  newComparison,
} from "../../../forms/comparison/comparison-draft.js";
import { comparisonInWords } from "../../../forms/comparison/comparison-words.js";
import { visibleText } from "../../../words/messages.js";
import { percent } from "../../../words/numbers.js";

/** `Drop track “Cart Viewed” where properties.total is less than 5`. */
export function ruleInWords({ action, kinds, events, where }: FilterRuleView): string {
  const verb = verbOf(action);
  const isNamed = events !== undefined && events.length > 0;
  const which =
    kinds !== undefined && kinds.length > 0 ? kinds.join(", ") : isNamed ? "track" : "all messages";
  const named = isNamed ? ` ${events.map((name) => `“${visibleText(name)}”`).join(", ")}` : "";
  const conditions = (where ?? []).map(({ path, is, value }) => comparisonInWords(path, is, value));
  return `${verb} ${which}${named}${conditions.length === 0 ? "" : ` where ${conditions.join(" and ")}`}`;
}

function verbOf(action: FilterRuleView["action"]): string {
  switch (action.kind) {
    case "drop":
      return "Drop";
    case "sample":
      return `Keep ${percent(action.share)} of`;
    case "remove":
      return `Remove ${action.paths.map((path) => visibleText(path)).join(", ")} from`;
    default:
      return action satisfies never;
  }
}

export type RuleAction = FilterRuleView["action"]["kind"];

/** One condition of a rule. `row` is a stable id for React. */
export interface RuleTest extends ComparisonDraft {
  readonly row: number;
  readonly name: string;
}

/** The form of a filter rule, as typed. */
export interface RuleDraft {
  readonly action: RuleAction;
  /** Per cent to keep. */
  readonly share: string;
  /** Fields to remove, one per line. */
  readonly paths: string;
  /** None: all kinds. */
  readonly kinds: readonly string[];
  /** Names of track events, one per line. None: all events. */
  readonly events: string;
  readonly where: readonly RuleTest[];
}

let lastRow = 0;

export function newRuleTest(): RuleTest {
  lastRow += 1;
  return { row: lastRow, name: "", ...newComparison() };
}

export function newRule(): RuleDraft {
  return { action: "drop", share: "10", paths: "", kinds: [], events: "", where: [] };
}

export function ruleDraftOf({ action, kinds = [], events = [], where = [] }: FilterRuleView): RuleDraft {
  return {
    ...newRule(),
    action: action.kind,
    ...(action.kind === "sample" ? { share: String(Number((action.share * 100).toPrecision(12))) } : {}),
    ...(action.kind === "remove" ? { paths: action.paths.join("\n") } : {}),
    kinds,
    events: events.join("\n"),
    where: where.map(({ path, is, value }) => ({
      ...newRuleTest(),
      name: path,
      ...comparisonDraftOf({ is, value }),
    })),
  };
}

/** Empty lists are omitted: the API would match nothing with them. */
export function ruleOf(draft: RuleDraft): FilterRuleView {
  const events = linesOf(draft.events);
  return {
    ...(draft.kinds.length === 0 ? {} : { kinds: draft.kinds }),
    ...(events.length === 0 ? {} : { events }),
    ...(draft.where.length === 0
      ? {}
      : { where: draft.where.map((test) => ({ path: test.name.trim(), ...comparisonOf(test, jsonOf) })) }),
    action: actionOf(draft),
  };
}

function actionOf({ action, share, paths }: RuleDraft): FilterRuleView["action"] {
  switch (action) {
    case "drop":
      return { kind: "drop" };
    case "sample":
      return { kind: "sample", share: Number(share) / 100 };
    case "remove":
      return { kind: "remove", paths: linesOf(paths) };
    default:
      return action satisfies never;
  }
}

export type RuleIssues = Readonly<Partial<Record<"share" | "paths" | "where", string>>>;

/** What is missing before the rule can be saved, by field. The API checks the rest. */
export function ruleIssues(draft: RuleDraft): RuleIssues {
  const share = Number(draft.share);
  const isIncomplete = draft.where.some(
    ({ name, is, value }) => name.trim() === "" || (value === "" && is !== "exists" && is !== "not_exists"),
  );
  return {
    ...(draft.action === "sample" && !(draft.share.trim() !== "" && share >= 0 && share <= 100)
      ? { share: "Enter a number from 0 to 100." }
      : {}),
    ...(draft.action === "remove" && linesOf(draft.paths).length === 0 ? { paths: "Enter a field." } : {}),
    ...(isIncomplete ? { where: 'Enter a field and a value. For an empty text, enter "".' } : {}),
  };
}

function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** The list with the item at `from` moved by one position. */
export function moved<T>(list: readonly T[], from: number, by: -1 | 1): readonly T[] {
  const target = from + by;
  const [one, other] = [list[from], list[target]];
  if (one === undefined || other === undefined) return list;
  return list.with(from, other).with(target, one);
}

/** The rules with `rule` in the place of `former`. If that is undefined or gone, `rule` goes to the end. */
export function withRule(
  rules: readonly FilterRuleView[],
  former: FilterRuleView | undefined,
  rule: FilterRuleView,
): readonly FilterRuleView[] {
  const text = JSON.stringify(former);
  const place = rules.findIndex((one) => JSON.stringify(one) === text);
  return place < 0 ? [...rules, rule] : rules.with(place, rule);
}
