import type { ComputedTraitKind, ComputedTraitView } from "@sluice/protocol";
import { duration } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";

export const TRAIT_KINDS: Readonly<Record<ComputedTraitKind, string>> = {
  count: "Count",
  sum: "Sum",
  average: "Average",
  min: "Least",
  max: "Greatest",
  most_frequent: "Most frequent",
  first: "First",
  last: "Last",
  unique_list: "List of different",
};

/** `Sum of total over “Order Completed”, last 30 d`. */
export function traitInWords({ kind, property, event, withinMs }: ComputedTraitView): string {
  const what = kind === "count" ? "Count of" : `${TRAIT_KINDS[kind]} ${visibleText(property ?? "")} of`;
  return `${what} “${visibleText(event)}”${withinMs === undefined ? "" : `, last ${duration(withinMs)}`}`;
}
