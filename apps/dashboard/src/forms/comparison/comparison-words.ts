import type { Comparison } from "@sluice/protocol";
import { visibleText, visibleValue } from "../../words/messages.js";
import type { DraftComparison } from "./comparison-draft.js";

const WORDS: Readonly<Record<DraftComparison, string>> = {
  equals: "is",
  not_equals: "is not",
  exists: "is set",
  not_exists: "is not set",
  contains: "contains",
  less: "is less than",
  greater: "is greater than",
  in: "is one of",
};

export const COMPARISON_CHOICES = Object.entries(WORDS);

/** `total is greater than 20`. */
export function comparisonInWords(name: string, is: Comparison, value: unknown): string {
  if (is === "exists") return `${visibleText(name)} ${WORDS[value === false ? "not_exists" : "exists"]}`;
  const shown = Array.isArray(value) ? value.map((one) => visibleValue(one)).join(", ") : visibleValue(value);
  return `${visibleText(name)} ${WORDS[is]} ${shown}`;
}
