import { isPlainObject } from "../messages/coerce.js";
import type { JsonObject } from "../messages/message.js";
import { isMessageKind } from "../messages/message.js";
import type { Definitions, Schema } from "./plan.js";
import { NAMED_KINDS, PLAN_LIMITS, type Plan, type PlanIssue, UNNAMED_KINDS } from "./plan.js";
import { escaped, type SchemaReader, schemaReader } from "./read-schema.js";

export type PlanReading =
  | { readonly kind: "plan"; readonly plan: Plan }
  | { readonly kind: "invalid"; readonly issues: readonly [PlanIssue, ...PlanIssue[]] };

/** Fields of a plan besides its kinds. */
const FIELDS: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$comment",
  "$defs",
  "definitions",
  "name",
  "description",
  "unplanned",
  ...NAMED_KINDS,
  ...UNNAMED_KINDS,
]);

/** Reads the JSON of a tracking plan. Takes time linear in its size, and never throws. */
export function readPlan(given: unknown): PlanReading {
  const reader = schemaReader();
  const json = isPlainObject(given) ? (planOfExport(given) ?? given) : undefined;
  if (json === undefined) reader.report("", "A tracking plan must be a JSON object");
  const plan = json === undefined ? undefined : readFields(json, reader);
  const [first, ...others] = reader.issues;
  if (first !== undefined || plan === undefined)
    return {
      kind: "invalid",
      issues: [first ?? { path: "", message: "A tracking plan must be a JSON object" }, ...others],
    };
  return { kind: "plan", plan };
}

function readFields(json: JsonObject, reader: SchemaReader): Plan {
  for (const field of Object.keys(json)) {
    if (FIELDS.has(field)) continue;
    reader.report(
      `/${escaped(field)}`,
      `is not a field of a tracking plan: it has ${[...NAMED_KINDS, ...UNNAMED_KINDS].join(", ")}, $defs, name, description and unplanned`,
    );
  }
  const { name, description, unplanned = "allow" } = json;
  if (unplanned !== "allow" && unplanned !== "violation")
    reader.report("/unplanned", 'must be "allow" or "violation"');
  const named = NAMED_KINDS.flatMap((kind) =>
    json[kind] === undefined ? [] : [[kind, readSchemas(json, kind, reader)] as const],
  );
  const names = named.reduce((sum, [, schemas]) => sum + schemas.size, 0);
  if (names > PLAN_LIMITS.names)
    reader.report("", `It has ${names} names; the most are ${PLAN_LIMITS.names}`);
  const unnamed = UNNAMED_KINDS.flatMap((kind) =>
    json[kind] === undefined ? [] : [[kind, reader.read(json[kind], `/${kind}`)] as const],
  );
  const definitions = new Map([
    ...readSchemas(json, "$defs", reader),
    ...readSchemas(json, "definitions", reader),
  ]);
  if (definitions.size > PLAN_LIMITS.definitions)
    reader.report("/$defs", `has ${definitions.size} definitions; the most are ${PLAN_LIMITS.definitions}`);
  else checkRefs(definitions, reader);
  return {
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof description === "string" ? { description } : {}),
    ...Object.fromEntries(named),
    ...Object.fromEntries(unnamed),
    unplanned: unplanned === "violation" ? unplanned : "allow",
    definitions,
  };
}

function readSchemas(json: JsonObject, field: string, reader: SchemaReader): Map<string, Schema> {
  const schemas = json[field];
  if (schemas === undefined) return new Map();
  if (!isPlainObject(schemas)) {
    reader.report(`/${field}`, "must be an object: name → JSON Schema");
    return new Map();
  }
  return new Map(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      reader.read(schema, `/${field}/${escaped(name)}`),
    ]),
  );
}

/** A `$ref` must name a definition, and a definition must not be itself: checking a value against it would not end. */
function checkRefs(definitions: Definitions, { refs, report }: SchemaReader): void {
  for (const [ref, at] of refs) if (!definitions.has(ref)) report(at, `there is no definition \`${ref}\``);
  /** Definitions that are checked against the same value as one of them. */
  const done = new Set<string>();
  const visit = (name: string, above: ReadonlySet<string>): void => {
    if (above.has(name)) {
      report(`/$defs/${escaped(name)}`, "refers to itself without a property or an item in between");
      return;
    }
    const schema = definitions.get(name);
    if (schema === undefined || done.has(name)) return;
    const inside = new Set([...above, name]);
    for (const ref of refsInPlace(schema)) visit(ref, inside);
    done.add(name);
  };
  for (const name of definitions.keys()) visit(name, new Set());
}

function refsInPlace(schema: Schema): string[] {
  const { ref, allOf = [], anyOf = [], oneOf = [], not } = schema;
  const branches = [...allOf, ...anyOf, ...oneOf, ...(not === undefined ? [] : [not])];
  return [...(ref === undefined ? [] : [ref]), ...branches.flatMap(refsInPlace)];
}

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
