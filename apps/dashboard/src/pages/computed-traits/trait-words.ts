import type { ComputedTraitView } from "@sluice/control-api";
import type { ComputedTraitKind } from "@sluice/protocol";
import { duration } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";

export const TRAIT_KINDS: Readonly<Record<ComputedTraitKind, string>> = {
  count: "Count",
  sum: "Sum",
  average: "Average",
  min: "Minimum",
  max: "Maximum",
  most_frequent: "Most frequent value",
  first: "First value",
  last: "Last value",
  unique_list: "List of unique values",
};

/** The words before the property. */
const OF_PROPERTY: Readonly<Record<Exclude<ComputedTraitKind, "count">, string>> = {
  sum: "Sum of",
  average: "Average of",
  min: "Minimum",
  max: "Maximum",
  most_frequent: "Most frequent",
  first: "First",
  last: "Last",
  unique_list: "Unique values of",
};

/** `Sum of total over “Order Completed”, last 30 d`. */
export function traitInWords({ kind, property, event, withinMs }: ComputedTraitView): string {
  const what = kind === "count" ? "Count of" : `${OF_PROPERTY[kind]} ${visibleText(property ?? "")} over`;
  return `${what} “${visibleText(event)}”${withinMs === undefined ? "" : `, last ${duration(withinMs)}`}`;
}

/** Why no user has a value. An event without the property does not count. */
export function noValuesInWords({
  property,
  withinMs,
}: Pick<ComputedTraitView, "property" | "withinMs">): string {
  const having = property === undefined ? "" : ` with the property ${visibleText(property)}`;
  return `No user has this event${having} ${withinMs === undefined ? "yet" : `in the last ${duration(withinMs)}`}.`;
}
