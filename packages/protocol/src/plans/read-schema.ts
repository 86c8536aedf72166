import { isPlainObject } from "../messages/coerce.js";
import type { JsonObject } from "../messages/message.js";
import { compilePattern, type Pattern, PatternError } from "./pattern.js";
import {
  BOUNDS,
  type Bounds,
  FORMAT_NAMES,
  isFormat,
  JSON_TYPES,
  type JsonType,
  PLAN_LIMITS,
  type PlanIssue,
  type Schema,
} from "./plan.js";

/** Keywords that say something to a reader and nothing to a check. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  "title",
  "default",
  "examples",
  "example",
  "deprecated",
  "readOnly",
  "writeOnly",
  "$schema",
  "$id",
  "id",
  "$comment",
  "$defs",
  "definitions",
]);

/** Reads schemas, and collects what is wrong with them. */
export interface SchemaReader {
  read(json: unknown, path: string): Schema;
  /** Definitions that a `$ref` names, each with the place of the first one. */
  readonly refs: ReadonlyMap<string, string>;
  readonly issues: readonly PlanIssue[];
  report(path: string, message: string): void;
}

/** The first mistakes are enough: the others are often their consequence. */
const MAX_ISSUES = 20;

export function schemaReader(): SchemaReader {
  const issues: PlanIssue[] = [];
  const refs = new Map<string, string>();
  let count = 0;
  let instructions = 0;
  const takesPattern = ({ program }: Pattern): boolean => {
    instructions += program.length;
    return instructions <= PLAN_LIMITS.patternInstructions;
  };
  const report = (path: string, message: string): void => {
    if (issues.length < MAX_ISSUES) issues.push({ path, message });
  };
  const mistakeIn = (json: unknown, depth: number): string | undefined => {
    if (!isPlainObject(json)) return "must be a JSON Schema: an object, true or false";
    if (depth > PLAN_LIMITS.depth) return `is nested deeper than ${PLAN_LIMITS.depth} schemas`;
    return ++count > PLAN_LIMITS.schemas ? `is one of more than ${PLAN_LIMITS.schemas} schemas` : undefined;
  };
  const read = (json: unknown, path: string, depth: number): Schema => {
    if (typeof json === "boolean") return json ? {} : { never: true };
    const mistake = mistakeIn(json, depth);
    if (mistake !== undefined) report(path, mistake);
    return mistake === undefined && isPlainObject(json) ? readKeywords(json, path, depth) : {};
  };
  const readKeywords = (json: JsonObject, path: string, depth: number): Schema => {
    const schema: Schema = {};
    const child = (inner: unknown, step: string): Schema => read(inner, `${path}/${step}`, depth + 1);
    for (const [keyword, value] of Object.entries(json)) {
      if (ANNOTATIONS.has(keyword)) continue;
      const at = `${path}/${escaped(keyword)}`;
      const readKeyword = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
      if (readKeyword === undefined) report(at, `\`${keyword}\` is not supported`);
      else
        Object.assign(
          schema,
          readKeyword(value, { at, child, report, refs, takesPattern, bounds: schema.bounds }),
        );
    }
    return schema;
  };
  return { read: (json, path) => read(json, path, 1), refs, issues, report };
}

interface Around {
  readonly refs: Map<string, string>;
  /** Those that were read before. */
  readonly bounds: Bounds | undefined;
  readonly at: string;
  readonly report: (path: string, message: string) => void;
  readonly child: (value: unknown, step: string) => Schema;
  /** False if the plan's patterns are too long together. */
  readonly takesPattern: (pattern: Pattern) => boolean;
}

const KEYWORDS: Readonly<Record<string, (value: unknown, around: Around) => Schema>> = {
  description: (value) => (typeof value === "string" ? { description: value } : {}),
  $ref(value, { at, refs, report }) {
    const [, name] = (typeof value === "string" && /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(value)) || [];
    if (name === undefined) {
      report(at, "must name a definition of this file, such as `#/$defs/Address`");
      return {};
    }
    const ref = unescaped(name);
    if (!refs.has(ref)) refs.set(ref, at);
    return { ref };
  },
  ...Object.fromEntries(
    BOUNDS.map((keyword) => [
      keyword,
      (value: unknown, around: Around) => ({
        bounds: { ...around.bounds, ...boundOf(keyword, value, around) },
      }),
    ]),
  ),
  type(value, { at, report }) {
    const types = Array.isArray(value) ? value : [value];
    if (types.length > 0 && types.every(isJsonType)) return { types };
    report(at, `must be one or more of ${JSON_TYPES.join(", ")}`);
    return {};
  },
  enum(value, { at, report }) {
    if (Array.isArray(value) && value.length > 0) return oneOf(value);
    report(at, "must be a list of values");
    return {};
  },
  const: (value) => oneOf([value]),
  properties(value, { at, child, report }) {
    if (isPlainObject(value)) return { properties: schemasIn(value, "properties", child) };
    report(at, "must be an object of schemas");
    return {};
  },
  required(value, { at, report }) {
    if (Array.isArray(value) && value.every((name) => typeof name === "string")) return { required: value };
    if (typeof value !== "boolean") report(at, "must be a list of names");
    else report(at, "must be a list of names, in the schema around this one");
    return {};
  },
  additionalProperties: (value, { child }) =>
    value === true ? { additional: {} } : { additional: child(value, "additionalProperties") },
  items(value, { at, child, report }) {
    if (!Array.isArray(value)) return { items: child(value, "items") };
    report(at, "must be one schema: lists with a schema for each position are not supported");
    return {};
  },
  allOf: (value, around) => listOf("allOf", value, around),
  anyOf: (value, around) => listOf("anyOf", value, around),
  oneOf: (value, around) => listOf("oneOf", value, around),
  not: (value, { child }) => ({ not: child(value, "not") }),
  pattern: readPattern,
  format(value, { at, report }) {
    if (isFormat(value)) return { format: value };
    report(at, `must be one of ${FORMAT_NAMES.join(", ")}`);
    return {};
  },
};

function oneOf(values: readonly unknown[]): Schema {
  return { values, scalars: new Set(values.filter((value) => typeof value !== "object" || value === null)) };
}

function schemasIn(
  json: { readonly [name: string]: unknown },
  step: string,
  child: Around["child"],
): Map<string, Schema> {
  return new Map(
    Object.entries(json).map(([name, value]) => [name, child(value, `${step}/${escaped(name)}`)]),
  );
}

function listOf(keyword: "allOf" | "anyOf" | "oneOf", value: unknown, { at, child, report }: Around): Schema {
  if (Array.isArray(value) && value.length > 0)
    return { [keyword]: value.map((entry, index) => child(entry, `${keyword}/${index}`)) };
  report(at, "must be a list of schemas");
  return {};
}

function readPattern(value: unknown, { at, report, takesPattern }: Around): Schema {
  if (typeof value !== "string" || value.length > PLAN_LIMITS.patternLength) {
    report(at, `must be a text of at most ${PLAN_LIMITS.patternLength} characters`);
    return {};
  }
  try {
    const pattern = compilePattern(value);
    if (takesPattern(pattern)) return { pattern };
    report(at, "is too long together with the other patterns of the plan");
    return {};
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    report(at, `cannot be used: ${error.message}`);
    return {};
  }
}

function boundOf(
  keyword: keyof Bounds,
  value: unknown,
  { at, report }: Pick<Around, "at" | "report">,
): Bounds {
  if (isBoundValue(keyword, value)) return { [keyword]: value };
  report(
    at,
    `must be a number${keyword === "multipleOf" ? " above 0" : /imum$/i.test(keyword) ? "" : ", from 0 and whole"}`,
  );
  return {};
}

function isBoundValue(keyword: keyof Bounds, value: unknown): value is number {
  if (typeof value !== "number" || !Number.isFinite(value)) return false;
  if (keyword === "multipleOf") return value > 0;
  return /imum$/i.test(keyword) || (Number.isInteger(value) && value >= 0);
}

function isJsonType(value: unknown): value is JsonType {
  return (JSON_TYPES as readonly unknown[]).includes(value);
}

/** A step of a JSON pointer. */
export function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescaped(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}
