import { isPlainObject } from "../messages/coerce.js";
import { matchesPattern } from "./match-pattern.js";
import type { Bounds, Definitions, JsonType, Schema } from "./plan.js";
import { hasFormat, PLAN_LIMITS } from "./plan.js";

/** How a message departs from its plan. */
export interface Violation {
  /** The field as a dotted path: `properties.total`. */
  readonly path: string;
  readonly message: string;
}

/** A check that would take too long. The sender chooses the message, so its cost is bounded. */
export class TooCostly extends Error {}

/** One message's check: what was found, and the steps that are left. */
export interface Check {
  readonly definitions: Definitions;
  /** The names that lead to the value. Made into a text only for a violation. */
  readonly path: (string | number)[];
  readonly violations: Violation[];
  /** Above 0: a branch of a schema is tried, whose violations count and are not shown. */
  trials: number;
  failures: number;
  stepsLeft: number;
  depth: number;
}

/** `path`: the field that holds the value; empty for the message itself. */
export function startCheck(definitions: Definitions, path: string, stepsLeft: number): Check {
  return {
    definitions,
    path: path === "" ? [] : [path],
    violations: [],
    trials: 0,
    failures: 0,
    stepsLeft,
    depth: 0,
  };
}

function spend(check: Check, steps: number): void {
  check.stepsLeft -= steps;
  if (check.stepsLeft < 0) throw new TooCostly();
}

/** Deeper values are not checked: a recursion must end. */
const MAX_DEPTH = 200;

/** Adds the violations of a value to the check. Throws `TooCostly`. */
export function checkValue(value: unknown, schema: Schema, check: Check): void {
  spend(check, 1);
  if (check.depth > MAX_DEPTH) throw new TooCostly();
  check.depth++;
  checkKeywords(value, schema, check);
  check.depth--;
}

function checkKeywords(value: unknown, schema: Schema, check: Check): void {
  const { ref, types } = schema;
  if (schema.never) {
    report(check, "is not allowed");
    return;
  }
  if (types !== undefined && !types.some((type) => hasType(value, type))) {
    report(check, `must be ${types.map(nounOf).join(" or ")}, and is ${nounOf(typeOf(value))}`);
    return;
  }
  if (ref !== undefined) checkValue(value, check.definitions.get(ref) ?? {}, check);
  if (schema.values !== undefined && !isOneOf(value, schema, check))
    report(check, `must be ${shown(schema.values)}`);
  checkBranches(value, schema, check);
  if (typeof value === "string") checkText(value, schema, check);
  else if (Array.isArray(value)) checkItems(value, schema, check);
  else if (isPlainObject(value) && numberOf(value) === undefined) checkFields(value, schema, check);
  else checkNumber(numberOf(value), schema.bounds, check);
}

function report(check: Check, message: string): void {
  check.failures++;
  if (check.trials === 0 && check.violations.length < PLAN_LIMITS.violations)
    check.violations.push({ path: check.path.map(shortened).join("."), message });
}

function checkBranches(value: unknown, { allOf, anyOf, oneOf, not }: Schema, check: Check): void {
  for (const schema of allOf ?? []) checkValue(value, schema, check);
  if (anyOf !== undefined && !anyOf.some((schema) => fits(value, schema, check)))
    report(check, `fits none of the ${anyOf.length} schemas that are allowed`);
  if (oneOf !== undefined) {
    const fitting = oneOf.filter((schema) => fits(value, schema, check)).length;
    if (fitting !== 1) report(check, `must fit one of ${oneOf.length} schemas, and fits ${fitting}`);
  }
  if (not !== undefined && fits(value, not, check)) report(check, "fits a schema that is ruled out");
}

/** Whether the value has no violation of the schema; adds none to the check. */
function fits(value: unknown, schema: Schema, check: Check): boolean {
  const before = check.failures;
  check.trials++;
  checkValue(value, schema, check);
  check.trials--;
  const isFitting = check.failures === before;
  check.failures = before;
  return isFitting;
}

function checkText(text: string, { bounds, pattern, format }: Schema, check: Check): void {
  spend(check, text.length >> 6);
  if (bounds?.minLength !== undefined || bounds?.maxLength !== undefined) {
    let length = 0;
    for (const _character of text) length++;
    checkSize(length, bounds.minLength, bounds.maxLength, "character", check);
  }
  if (format !== undefined && !hasFormat(text, format)) report(check, `must have the format ${format}`);
  if (pattern !== undefined && !matchesPattern(text, pattern, (steps) => spend(check, steps)))
    report(check, `must match ${pattern.source}`);
}

function checkNumber(value: number | undefined, bounds: Bounds | undefined, check: Check): void {
  if (value === undefined || bounds === undefined) return;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = bounds;
  if (minimum !== undefined && value < minimum) report(check, `must be at least ${minimum}`);
  if (maximum !== undefined && value > maximum) report(check, `must be at most ${maximum}`);
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    report(check, `must be above ${exclusiveMinimum}`);
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
    report(check, `must be below ${exclusiveMaximum}`);
  if (multipleOf !== undefined && !isMultiple(value, multipleOf))
    report(check, `must be a multiple of ${multipleOf}`);
}

/** 0.3 is a multiple of 0.1, although doubles disagree. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * 4 * Number.EPSILON;
}

function checkItems(items: readonly unknown[], { items: schema, bounds }: Schema, check: Check): void {
  checkSize(items.length, bounds?.minItems, bounds?.maxItems, "item", check);
  if (schema === undefined) return;
  for (const [index, item] of items.entries()) checkBelow(index, item, schema, check);
}

function checkFields(
  fields: { readonly [name: string]: unknown },
  { properties, required = [], additional, bounds }: Schema,
  check: Check,
): void {
  const names = Object.keys(fields);
  spend(check, names.length + required.length);
  checkSize(names.length, bounds?.minProperties, bounds?.maxProperties, "property", check);
  for (const name of required)
    if (!Object.hasOwn(fields, name)) report(check, `must have the property \`${name}\``);
  if (properties === undefined && additional === undefined) return;
  for (const name of names) {
    const schema = properties?.get(name) ?? additional;
    if (schema !== undefined) checkBelow(name, fields[name], schema, check);
  }
}

function checkBelow(name: string | number, value: unknown, schema: Schema, check: Check): void {
  check.path.push(name);
  checkValue(value, schema, check);
  check.path.pop();
}

function checkSize(
  size: number,
  least: number | undefined,
  most: number | undefined,
  noun: string,
  check: Check,
): void {
  if (least !== undefined && size < least)
    report(check, `must have at least ${counted(least, noun)}, and has ${size}`);
  if (most !== undefined && size > most)
    report(check, `must have at most ${counted(most, noun)}, and has ${size}`);
}

function counted(count: number, noun: string): string {
  if (count === 1) return `1 ${noun}`;
  return `${count} ${noun === "property" ? "properties" : `${noun}s`}`;
}

/** Names come from the sender and are shown. */
function shortened(name: string | number): string {
  const text = String(name);
  return text.length <= 100 ? text : `${text.slice(0, 100)}…`;
}

/** TypeScript's library does not declare it yet, and a browser may not have it. */
const isRawJson = (JSON as { isRawJSON?: (value: unknown) => boolean }).isRawJSON ?? (() => false);

/**
 * The value as a number; undefined if it is none. Numbers that a double cannot hold arrive as raw JSON: see `parse-json.ts` of the
 * event log.
 */
function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "object" || value === null || !isRawJson(value)) return undefined;
  return Number((value as { readonly rawJSON: string }).rawJSON);
}

/** The JSON type of a value. An integer is `integer`. */
export function typeOf(value: unknown): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const number = numberOf(value);
  if (number !== undefined) return Number.isInteger(number) ? "integer" : "number";
  const type = typeof value;
  return type === "string" || type === "boolean" ? type : "object";
}

function hasType(value: unknown, type: JsonType): boolean {
  const own = typeOf(value);
  return own === type || (own === "integer" && type === "number");
}

const NOUNS: Readonly<Record<JsonType, string>> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "a boolean",
  object: "an object",
  array: "an array",
  null: "null",
};

function nounOf(type: JsonType): string {
  return NOUNS[type];
}

function shown(values: readonly unknown[]): string {
  const first = values.slice(0, 5).map((value) => JSON.stringify(value));
  const text =
    values.length === 1
      ? `${first[0]}`
      : `one of ${first.join(", ")}${values.length > 5 ? `, … (${values.length} values)` : ""}`;
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}

function isOneOf(value: unknown, { scalars, values = [] }: Schema, check: Check): boolean {
  if (typeof value !== "object" || value === null) return scalars?.has(value) ?? false;
  const number = numberOf(value);
  if (number !== undefined) return scalars?.has(number) ?? false;
  return values.some((allowed) => isEqual(value, allowed, check));
}

function isEqual(value: unknown, allowed: unknown, check: Check): boolean {
  spend(check, 1);
  const number = numberOf(value);
  if (number !== undefined) return number === numberOf(allowed);
  if (typeof value !== "object" || value === null || typeof allowed !== "object" || allowed === null)
    return value === allowed;
  if (Array.isArray(value) !== Array.isArray(allowed)) return false;
  const names = Object.keys(value);
  if (names.length !== Object.keys(allowed).length) return false;
  return names.every(
    (name) =>
      Object.hasOwn(allowed, name) && isEqual((value as never)[name], (allowed as never)[name], check),
  );
}
