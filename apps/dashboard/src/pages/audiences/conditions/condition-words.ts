import type { Explanation } from "@sluice/control-api";
import type { Condition, PropertyTest, Times } from "@sluice/protocol";
import { comparisonInWords } from "../../../forms/comparison/comparison-words.js";
import { duration } from "../../../words/numbers.js";
import { visibleText } from "../../../words/visible-text.js";

/** One condition in words, without its children. `nameOf` returns the name of an audience. */
export function conditionInWords(
  condition: Condition | Explanation,
  nameOf: (audienceId: string) => string,
): string {
  switch (condition.kind) {
    case "and":
      return "All of these";
    case "or":
      return "Any of these";
    case "not":
      return "Not";
    case "trait":
      return `Trait ${comparisonInWords(condition.trait, condition.is, condition.value)}`;
    case "event": {
      const where = "where" in condition ? ((condition.where ?? []) as readonly PropertyTest[]) : [];
      const tests = where.map((test) => comparisonInWords(test.property, test.is, test.value)).join(" and ");
      return `Did “${visibleText(condition.event)}” ${timesInWords(condition.times)}${
        condition.withinMs === undefined ? "" : ` within the last ${duration(condition.withinMs)}`
      }${tests === "" ? "" : `, where ${tests}`}`;
    }
    case "audience":
      return `Member of “${visibleText(nameOf(condition.audienceId))}”`;
    default:
      return condition satisfies never;
  }
}

/** The conditions inside a condition. */
export function childrenOf<Node extends Condition | Explanation>(node: Node): readonly Node[] {
  if (node.kind === "and" || node.kind === "or") return node.conditions as readonly Node[];
  return node.kind === "not" ? [node.condition as Node] : [];
}

function timesInWords(times: Times): string {
  const [bound, number] = Object.entries(times)[0] ?? ["atLeast", 1];
  const word = bound === "atLeast" ? "at least" : bound === "atMost" ? "at most" : "exactly";
  return `${word} ${number === 1 ? "once" : `${number} times`}`;
}
