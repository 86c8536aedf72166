import type { Comparison } from "@sluice/protocol";

/**
 * A comparison while somebody writes it: texts are kept as typed and read as values only when it is sent. What was read
 * from the API and is written back unchanged is the same again.
 */
export interface ComparisonDraft {
  readonly is: DraftComparison;
  readonly value: string;
}

/** `exists: false` has a name of its own in a form. */
export type DraftComparison = Comparison | "not_exists";

export interface ComparisonOf<Value> {
  readonly is: Comparison;
  readonly value?: Value;
}

export function newComparison(): ComparisonDraft {
  return { is: "equals", value: "" };
}

/** Nothing is guessed at: a value that is not there yet is left out, for the validator to name. */
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

/** `42` is a number and `true` a truth; in quotation marks they are text. */
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

/** A scalar, or what only a filter of a destination compares: null, a list, an object, as JSON. */
export function jsonOf(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "null") return null;
  if (!/^[[{]/.test(trimmed)) return scalarOf(text);
  return parsed(trimmed) ?? text;
}

/** The value as somebody would type it so that it is read as it was. */
function typedText(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value !== "string") {
    const text = JSON.stringify(value);
    // 1e21 and the like are written in a form that would be read as text.
    return typeof value === "number" && scalarOf(text) !== value ? String(BigInt(value)) : text;
  }
  return value !== "" && jsonOf(value) === value ? value : JSON.stringify(value);
}

/** The same for one of a list, whose items a comma parts. */
function itemText(value: unknown): string {
  const text = typedText(value);
  const isPlain = typeof value === "string" && text === value;
  return isPlain && (/[,"]/.test(text) || text.trim() !== text) ? JSON.stringify(value) : text;
}

/** Parts of a list, at commas that stand outside of quotation marks. */
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
