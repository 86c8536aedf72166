import fc from "fast-check";

/** The parts of a JSON Schema that the control API uses. */
interface JsonSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly minimum?: number;
  readonly maximum?: number;
}

const MAX_DEPTH = 6;
const WORDS = [
  "",
  "a",
  "__proto__",
  "constructor",
  "2026-11-21T09:30:00Z",
  "none",
  "0",
  "x".repeat(2_000),
  "\ud800",
  "a\0b",
  "properties.a:b",
];

/** Values that fit a schema, or nearly do. */
export function valuesOf(schema: JsonSchema, ids: fc.Arbitrary<string>, depth = 0): fc.Arbitrary<unknown> {
  const wrong = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    ids,
    fc.constantFrom<unknown>(null, 2 ** 53, -1, 1.5, 1e308, ...WORDS),
  );
  if (depth > MAX_DEPTH) return wrong;
  return fc.oneof({ weight: 12, arbitrary: fitting(schema, ids, depth) }, { weight: 1, arbitrary: wrong });
}

function fitting(schema: JsonSchema, ids: fc.Arbitrary<string>, depth: number): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf !== undefined)
    return fc.oneof(...schema.anyOf.map((one) => valuesOf(one, ids, depth + 1)));
  switch (schema.type) {
    case "object":
      return objects(schema, ids, depth);
    case "array":
      return fc.array(valuesOf(schema.items ?? {}, ids, depth + 1), { maxLength: 3 });
    case "string":
      return fc.oneof(ids, fc.constantFrom(...WORDS), fc.string());
    case "integer":
    case "number":
      return fc.oneof(
        fc.constantFrom(schema.minimum ?? 0, schema.maximum ?? 1_000, 1),
        fc.integer({ min: 0, max: 100 }),
      );
    case "boolean":
      return fc.boolean();
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function objects(schema: JsonSchema, ids: fc.Arbitrary<string>, depth: number): fc.Arbitrary<unknown> {
  const { properties = {}, required = [] } = schema;
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, valuesOf(inner, ids, depth + 1)]),
  );
  if (Object.keys(fields).length === 0)
    return fc.dictionary(fc.constantFrom(...WORDS), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
  return fc.record(fields, { requiredKeys: required.filter((name) => name in fields) });
}
