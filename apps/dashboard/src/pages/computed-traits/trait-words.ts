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

/** What is worked out of the property, before its name. */
const OF_PROPERTY: Readonly<Record<Exclude<ComputedTraitKind, "count">, string>> = {
  sum: "Sum of",
  average: "Average of",
  min: "Least",
  max: "Greatest",
  most_frequent: "Most frequent",
  first: "First",
  last: "Last",
  unique_list: "Every different",
};

/** `Sum of total over “Order Completed”, last 30 d`. */
export function traitInWords({ kind, property, event, withinMs }: ComputedTraitView): string {
  const what = kind === "count" ? "Count of" : `${OF_PROPERTY[kind]} ${visibleText(property ?? "")} over`;
  return `${what} “${visibleText(event)}”${withinMs === undefined ? "" : `, last ${duration(withinMs)}`}`;
}

/** Why nobody has a value: to do the event is not enough where the value is made of a property. */
export function nobodyInWords({
  property,
  withinMs,
}: Pick<ComputedTraitView, "property" | "withinMs">): string {
  const having = property === undefined ? "" : ` with the property ${visibleText(property)}`;
  return `Nobody has done the event${having} ${withinMs === undefined ? "yet" : `in the last ${duration(withinMs)}`}.`;
}
