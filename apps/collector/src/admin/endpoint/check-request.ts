import { KindGuard, type TObject, type TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import type { ValueError } from "@sinclair/typebox/errors";
import { parseJson } from "@sluice/event-log";
import { CollectorError } from "../../errors.js";

/** Bodies of the control API are small. The largest are destinations with filters and conditions of audiences. */
export const ADMIN_BODY_BYTES = 256 * 1_024;

const MAX_ISSUES = 20;
const compiled = new WeakMap<TSchema, TypeCheck<TSchema>>();

/** Compiles a schema on first use, so that the start of the collector does not pay for it. */
function checker(schema: TSchema): TypeCheck<TSchema> {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const check = TypeCompiler.Compile(schema);
  compiled.set(schema, check);
  return check;
}

/** Throws `invalid_request` that names every field that is wrong, up to `MAX_ISSUES`. */
export function checkAgainst(schema: TSchema, value: unknown): void {
  const check = checker(schema);
  if (check.Check(value)) return;
  const issues: { path: string; message: string }[] = [];
  for (const error of check.Errors(value)) {
    if (issues.length === MAX_ISSUES) break;
    const path = dotted(error.path);
    // A union reports several errors for one path; the first says what was expected.
    if (!issues.some((issue) => issue.path === path)) issues.push({ path, message: sentenceOf(error) });
  }
  const [first] = issues;
  throw new CollectorError(
    "invalid_request",
    first === undefined ? undefined : `${first.path === "" ? "the body" : first.path}: ${first.message}`,
    {
      details: { issues },
    },
  );
}

/** For a union of literals TypeBox does not list them. */
function sentenceOf({ schema, message }: ValueError): string {
  if (!KindGuard.IsUnion(schema)) return message;
  const words = schema.anyOf.map((one) => (KindGuard.IsLiteral(one) ? one.const : undefined));
  return words.includes(undefined) ? message : `Expected one of ${words.join(", ")}`;
}

/** `/webhooks/0/url` as a path: `webhooks[0].url`. */
function dotted(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => {
      if (/^\d+$/.test(part)) return `${path}[${part}]`;
      return path === "" ? part : `${path}.${part}`;
    }, "");
}

/** Parses a request's body; an empty body is `{}`. */
export function readJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  try {
    return parseJson(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch (cause) {
    throw new CollectorError("malformed_json", cause instanceof Error ? cause.message : undefined, { cause });
  }
}

/** The query's parameters, converted to the schema's types. If a name is repeated, the last value counts. */
export function readQuery(schema: TObject, parameters: URLSearchParams): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, text] of parameters) {
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    // Forms send empty parameters for fields that were not filled in.
    if (text === "" && property !== undefined) continue;
    query[name] = property === undefined ? text : typed(property, text);
  }
  return query;
}

/** A value that cannot be converted stays text, and the check refuses it. */
function typed(schema: TSchema, text: string): unknown {
  if (KindGuard.IsInteger(schema) || KindGuard.IsNumber(schema)) {
    const number = Number(text);
    return Number.isFinite(number) ? number : text;
  }
  if (KindGuard.IsBoolean(schema)) return text === "true" ? true : text === "false" ? false : text;
  return text;
}
