import type { Comparison } from "@sluice/protocol";

/**
 * A comparison as typed. `comparisonOf` parses the value. A comparison from the API that is saved unchanged keeps its value
 * and type.
 */
export interface ComparisonDraft {
  readonly is: DraftComparison;
  readonly value: string;
}

/** The form has a name of its own for `exists: false`. */
export type DraftComparison = Comparison | "not_exists";

export interface ComparisonOf<Value> {
  readonly is: Comparison;
  readonly value?: Value;
}

export function newComparison(): ComparisonDraft {
  return { is: "equals", value: "" };
}

/** A missing value stays missing, so that the validator reports it. */
export function comparisonOf<Value>(
  { is, value }: ComparisonDraft,
  read: (text: string) => Value,
): ComparisonOf<Value | readonly Value[] | false> {
  if (is === "exists") return { is };
  if (is === "not_exists") return { is: "exists", value: false };
  if (is === "in") return { is, value: itemsOf(value).map(read) };
  return value === "" ? { is } : { is, value: read(value) };
}

export function comparisonDraftOf({ is, value }: ComparisonOf<unknown>): ComparisonDraft {
  if (is === "exists") return { is: value === false ? "not_exists" : "exists", value: "" };
  return { is, value: Array.isArray(value) ? value.map(itemText).join(", ") : typedText(value) };
}

/** Parses `42` as a number and `true` as a boolean. In quotation marks they are texts. */
export function scalarOf(text: string): string | number | boolean {
  const trimmed = text.trim();
  if (trimmed === "true") return true;
  if (trimmed === "false") return false;
  if (/^-?(0|[1-9]\d*)(\.\d+)?$/.test(trimmed)) return Number(trimmed);
  if (/^".*"$/s.test(trimmed)) {
    const read = parsed(trimmed);
    return typeof read === "string" ? read : trimmed.slice(1, -1);
  }
  return text;
}

/** Also parses null, lists and objects as JSON. Only destination filters compare those. */
export function jsonOf(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "null") return null;
  if (!/^[[{]/.test(trimmed)) return scalarOf(text);
  return parsed(trimmed) ?? text;
}

/** The value as text that parses to the same value. */
function typedText(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value !== "string") {
    const text = JSON.stringify(value);
    // JSON writes 1e21 with an exponent, which would parse as text.
    return typeof value === "number" && scalarOf(text) !== value ? String(BigInt(value)) : text;
  }
  return value !== "" && jsonOf(value) === value ? value : JSON.stringify(value);
}

/** The same for an item of a comma-separated list. */
function itemText(value: unknown): string {
  const text = typedText(value);
  const isPlain = typeof value === "string" && text === value;
  return isPlain && (/[,"]/.test(text) || text.trim() !== text) ? JSON.stringify(value) : text;
}

/** Splits a list at commas outside of quotation marks. */
function itemsOf(text: string): readonly string[] {
  return [...text.matchAll(/\s*("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)/g)]
    .map(([, item = ""]) => item.trim())
    .filter((item) => item !== "");
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
