import type { FilterRuleView } from "@sluice/protocol";
import { comparisonInWords } from "../../../forms/comparison/comparison-words.js";
import { percent } from "../../../words/numbers.js";
import { visibleText } from "../../../words/visible-text.js";

/** `Drop track “Cart Viewed” where properties.total is less than 5`. */
export function ruleInWords({ action, kinds, events, where }: FilterRuleView): string {
  const does =
    action.kind === "drop"
      ? "Drop"
      : action.kind === "sample"
        ? `Keep ${percent(action.share)} of`
        : `Remove ${action.paths.map((path) => visibleText(path)).join(", ")} from`;
  const isNamed = events !== undefined && events.length > 0;
  const which =
    kinds !== undefined && kinds.length > 0 ? kinds.join(", ") : isNamed ? "track" : "every message";
  const named = isNamed ? ` ${events.map((name) => `“${visibleText(name)}”`).join(", ")}` : "";
  const asked = (where ?? []).map(({ path, is, value }) => comparisonInWords(path, is, value));
  return `${does} ${which}${named}${asked.length === 0 ? "" : ` where ${asked.join(" and ")}`}`;
}
