import { createHash } from "node:crypto";
import { type FilterRuleView, isPlainObject, type JsonObject } from "@sluice/protocol";

export type FilterResult =
  /** To be sent; the message is another object when a rule took fields out. */
  | { readonly kind: "kept"; readonly message: JsonObject }
  | { readonly kind: "filtered"; readonly reason: string };

/** What a destination's rules make of a message. The message itself is not changed. */
export function applyFilters(
  rules: readonly FilterRuleView[],
  message: JsonObject,
  messageId: string,
): FilterResult {
  let kept = message;
  for (const [index, rule] of rules.entries()) {
    if (!matchesRule(rule, message)) continue;
    const { action } = rule;
    switch (action.kind) {
      case "drop":
        return { kind: "filtered", reason: `filter: rule ${index + 1} drops it` };
      case "sample":
        return shareOf(messageId) < action.share
          ? { kind: "kept", message: kept }
          : { kind: "filtered", reason: `filter: rule ${index + 1} keeps a share of ${action.share}` };
      case "remove":
        for (const path of action.paths) kept = without(kept, path.split("."));
        break;
      default:
        action satisfies never;
    }
  }
  return { kind: "kept", message: kept };
}

function matchesRule({ kinds, events, where }: FilterRuleView, message: JsonObject): boolean {
  if (kinds !== undefined && !kinds.includes(message.type as string)) return false;
  if (events !== undefined && (message.type !== "track" || !events.includes(message.event as string))) {
    return false;
  }
  return (where ?? []).every(({ path, is, value }) => holds(valueAt(message, path.split(".")), is, value));
}

type Operator = NonNullable<FilterRuleView["where"]>[number]["is"];

function holds(actual: unknown, is: Operator, value: unknown): boolean {
  switch (is) {
    case "exists":
      return (actual !== undefined) === (value !== false);
    case "equals":
      return isSame(actual, value);
    case "not_equals":
      return !isSame(actual, value);
    case "contains":
      return Array.isArray(actual)
        ? actual.some((item) => isSame(item, value))
        : typeof actual === "string" && typeof value === "string" && actual.includes(value);
    case "less":
      return isComparable(actual, value) && (actual as number) < (value as number);
    case "greater":
      return isComparable(actual, value) && (actual as number) > (value as number);
    case "in":
      return Array.isArray(value) && value.some((item) => isSame(actual, item));
    default:
      return is satisfies never;
  }
}

/** Two numbers, or two texts (times in one form, versions of one length). */
function isComparable(a: unknown, b: unknown): boolean {
  return typeof a === typeof b && (typeof a === "number" || typeof a === "string");
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  return typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b);
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (!isPlainObject(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}

/** The message without a field, copied along the path to it. */
function without(message: JsonObject, [name, ...rest]: readonly string[]): JsonObject {
  if (name === undefined || !Object.hasOwn(message, name)) return message;
  if (rest.length === 0) {
    const { [name]: _, ...others } = message;
    return others;
  }
  const inner = message[name];
  return isPlainObject(inner) ? { ...message, [name]: without(inner, rest) } : message;
}

/** A number in [0, 1) that is always the same for one message id. */
function shareOf(messageId: string): number {
  return createHash("sha1").update(messageId).digest().readUInt32BE(0) / 2 ** 32;
}
