import { createHash } from "node:crypto";
import type { FilterRuleView } from "@sluice/control-api";
import { type ComparisonValue, compare, isPlainObject, type JsonObject, lookUp } from "@sluice/protocol";

export type FilterResult =
  /** To be sent. The message is a copy if a rule removed fields. */
  | { readonly kind: "kept"; readonly message: JsonObject }
  | { readonly kind: "filtered"; readonly reason: string };

/** Applies a destination's rules to a message. The message itself is not changed. */
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
        for (const path of action.paths) kept = without(kept, path);
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
  return (where ?? []).every(({ path, is, value }) =>
    compare(lookUp(message, path), is, value as ComparisonValue),
  );
}

/** The message without a field, copied along the path. A name that contains dots is tried whole first, as `lookUp` does. */
function without(message: JsonObject, path: string): JsonObject {
  if (Object.hasOwn(message, path)) {
    const { [path]: _, ...others } = message;
    return others;
  }
  const dot = path.indexOf(".");
  const name = path.slice(0, dot);
  if (dot < 0 || !Object.hasOwn(message, name)) return message;
  const inner = message[name];
  return isPlainObject(inner) ? { ...message, [name]: without(inner, path.slice(dot + 1)) } : message;
}

/** A number in [0, 1), the same each time for one message id. */
function shareOf(messageId: string): number {
  return createHash("sha1").update(messageId).digest().readUInt32BE(0) / 2 ** 32;
}
