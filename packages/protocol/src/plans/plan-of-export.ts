import { isPlainObject } from "../messages/coerce.js";
import { isMessageKind, type JsonObject } from "../messages/message.js";

/**
 * A tracking plan as Segment's Protocols and RudderStack export it: a list of rules, each a JSON Schema of a whole message. Undefined
 * if the JSON is not such an export. What a rule says of other parts than properties and traits, such as `context`, is left out.
 */
export function planOfExport(json: JsonObject): JsonObject | undefined {
  const rules = rulesOf(json);
  if (rules === undefined) return undefined;
  const plan: { [kind: string]: unknown } = {};
  const { name, display_name: displayName, description } = json;
  plan.name = name ?? displayName;
  plan.description = description;
  for (const rule of rules) {
    const kind = kindOf(rule);
    const schema = fieldsSchema(rule, kind);
    if (kind === "track" || kind === "page" || kind === "screen") {
      const ruleName = rule.name ?? rule.key;
      if (typeof ruleName !== "string") continue;
      plan[kind] = { ...(plan[kind] as object | undefined), [ruleName]: schema };
    } else if (kind !== undefined) plan[kind] = schema;
  }
  return plan;
}

function rulesOf(json: JsonObject): JsonObject[] | undefined {
  const { rules, events } = isPlainObject(json.data) ? json.data : json;
  if (Array.isArray(rules)) return rules.filter(isPlainObject);
  if (Array.isArray(events)) return events.filter(isPlainObject);
  if (!isPlainObject(rules) || !Array.isArray(rules.events)) return undefined;
  const users = rules.identify ?? rules.identify_traits;
  return [
    ...rules.events.filter(isPlainObject),
    ...(isPlainObject(users) ? [{ type: "identify", rules: users }] : []),
    ...(isPlainObject(rules.group) ? [{ type: "group", rules: rules.group }] : []),
  ];
}

function kindOf({ type, eventType }: JsonObject) {
  const kind = eventType ?? type ?? "track";
  const lowered = typeof kind === "string" ? kind.toLowerCase() : undefined;
  return isMessageKind(lowered) ? lowered : undefined;
}

/** The schema of a message's properties or traits, with the description of its rule. */
function fieldsSchema(rule: JsonObject, kind: string | undefined): unknown {
  const whole = rule.rules ?? rule.jsonSchema;
  const parts = isPlainObject(whole) && isPlainObject(whole.properties) ? whole.properties : {};
  const schema = parts[kind === "identify" || kind === "group" ? "traits" : "properties"] ?? {};
  const { description } = rule;
  return isPlainObject(schema) && typeof description === "string" && description !== ""
    ? { description, ...schema }
    : schema;
}
