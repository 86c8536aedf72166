/**
 * The semantics of conditions, for destination filters and audiences. They are documented in docs/reference/conditions.md.
 */
import { digitsOf, isPlainObject, isRawJson } from "../messages/coerce.js";
import { parseTime } from "../messages/timestamps.js";
import type { Comparison, ComparisonValue } from "./conditions.js";

/**
 * Whether the comparison holds between the `seen` value (undefined or null: absent) and `value`. It does not hold if `value`
 * has the wrong type; `validateComparison` refuses such a condition beforehand.
 */
export function compare(seen: unknown, is: Comparison, value: ComparisonValue | undefined): boolean {
  switch (is) {
    case "exists":
      return isPresent(seen) === (value !== false);
    case "equals":
      return isSame(seen, value);
    case "not_equals":
      return !isSame(seen, value);
    case "in":
      return Array.isArray(value) && value.some((one) => isSame(seen, one));
    case "contains":
      if (Array.isArray(seen)) return seen.some((one) => isSame(one, value));
      return typeof seen === "string" && typeof value === "string" && seen.includes(value);
    case "less":
      return order(seen, value) < 0;
    case "greater":
      return order(seen, value) > 0;
    default:
      return is satisfies never;
  }
}

/** The value at a name: the key of that whole name, else the dotted path. Null counts as absent, which is undefined. */
export function lookUp(values: unknown, name: string): unknown {
  if (!isPlainObject(values)) return undefined;
  if (Object.hasOwn(values, name)) return values[name] ?? undefined;
  const dot = name.indexOf(".");
  if (dot < 0) return undefined;
  const head = name.slice(0, dot);
  return Object.hasOwn(values, head) ? lookUp(values[head], name.slice(dot + 1)) : undefined;
}

/** The number of a value: a number, or text that is one, because decimals are often sent as text. Otherwise undefined. */
export function asNumber(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  const text = isRawJson(value) ? value.rawJSON : value;
  return typeof text === "string" && NUMERIC.test(text) ? Number(text) : undefined;
}

/** No two parts can take the same digits: a long text that is no number would otherwise take quadratic time. */
const NUMERIC = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Same type and same value. A number that a double cannot hold equals a number with the same digits. */
function isSame(seen: unknown, value: unknown): boolean {
  if (seen === value) return isPresent(seen);
  if (!isRawJson(seen)) return false;
  return seen.rawJSON === digitsOf(value) || (typeof value === "number" && Number(seen.rawJSON) === value);
}

/** Negative, zero or positive if `seen` is less, equal or greater; NaN if they cannot be compared. */
function order(seen: unknown, value: unknown): number {
  if (typeof value === "string") {
    const [seenMs, valueMs] = [parseTime(seen), parseTime(value)];
    return seenMs === undefined || valueMs === undefined ? Number.NaN : seenMs - valueMs;
  }
  const [left, right] = [asNumber(seen), asNumber(value)];
  return left === undefined || right === undefined ? Number.NaN : left - right;
}
