import type { FilterRuleView } from "@sluice/protocol";
import { percent } from "../../words/numbers.js";
import { visibleText, visibleValue } from "../../words/visible-text.js";

const COMPARISON_WORDS = {
  equals: "is",
  not_equals: "is not",
  exists: "is there",
  contains: "contains",
  less: "is less than",
  greater: "is greater than",
  in: "is one of",
} as const;

/** `Drop track “Cart Viewed” where properties.total is less than 5`. */
export function ruleInWords({ action, kinds, events, where }: FilterRuleView): string {
  const does =
    action.kind === "drop"
      ? "Drop"
      : action.kind === "sample"
        ? `Keep ${percent(action.share)} of`
        : `Remove ${action.paths.map((path) => visibleText(path)).join(", ")} from`;
  const which = kinds === undefined || kinds.length === 0 ? "every message" : kinds.join(", ");
  const named =
    events === undefined || events.length === 0
      ? ""
      : ` ${events.map((name) => `“${visibleText(name)}”`).join(", ")}`;
  const asked = (where ?? []).map(({ path, is, value }) =>
    `${visibleText(path)} ${COMPARISON_WORDS[is]} ${value === undefined ? "" : visibleValue(value)}`.trim(),
  );
  return `${does} ${which}${named}${asked.length === 0 ? "" : ` where ${asked.join(" and ")}`}`;
}
