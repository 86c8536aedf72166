import type { FilterRuleView } from "@sluice/control-api";
import { comparisonInWords } from "../../../forms/comparison/comparison-words.js";
import { percent } from "../../../words/numbers.js";
import { visibleText } from "../../../words/visible-text.js";

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
