import { KB } from "../limits.js";
import type { Pattern } from "./pattern.js";

const OCTET = "(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)";
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);
const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[zZ]|[+-][0-2]\d:[0-5]\d)$/;

/** Formats by name. Each test takes time linear in the length of the text. */
const FORMATS = {
  date: (text: string) => DATE.test(text),
  time: (text: string) => TIME.test(text),
  "date-time": (text: string) =>
    DATE.test(text.slice(0, 10)) && /[tT ]/.test(text[10] ?? "") && TIME.test(text.slice(11)),
  email: (text: string) => /^[^\s@]+@[^\s@]+$/.test(text),
  hostname: (text: string) => text.length <= 253 && text.split(".").every(isLabel),
  ipv4: (text: string) => IPV4.test(text),
  ipv6: isIpv6,
  uri: (text: string) => /^[a-zA-Z][a-zA-Z\d+.-]*:\S+$/.test(text),
  uuid: (text: string) => /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(text),
} as const satisfies Record<string, (text: string) => boolean>;

type Format = keyof typeof FORMATS;
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly Format[];

export function isFormat(name: unknown): name is Format {
  return typeof name === "string" && Object.hasOwn(FORMATS, name);
}

export function hasFormat(text: string, format: Format): boolean {
  return FORMATS[format](text);
}

function isLabel(label: string): boolean {
  return /^[a-zA-Z\d-]{1,63}$/.test(label) && !label.startsWith("-") && !label.endsWith("-");
}

function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1) ?? "";
  const hasIpv4 = last.includes(".");
  const plain = hasIpv4 ? groups.slice(0, -1) : groups;
  if (hasIpv4 && !IPV4.test(last)) return false;
  const count = plain.length + (hasIpv4 ? 2 : 0);
  return (
    plain.every((group) => /^[\da-fA-F]{1,4}$/.test(group)) && (halves.length === 2 ? count < 8 : count === 8)
  );
}

/** The types of JSON Schema. An integer is a number too. */
export const JSON_TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"] as const;
export type JsonType = (typeof JSON_TYPES)[number];

/** A schema that was read: only keywords that Sluice checks, each in the form in which it is checked. Absent: no limit. */
export interface Schema {
  readonly description?: string;
  /** `false`: nothing is valid. */
  readonly never?: true;
  /** The definition that `$ref` names. */
  readonly ref?: string;
  readonly types?: readonly JsonType[];
  /** The values of `enum`, or the one of `const`. */
  readonly values?: readonly unknown[];
  /** Those of `values` that are neither objects nor lists, to look them up. */
  readonly scalars?: ReadonlySet<unknown>;
  readonly properties?: ReadonlyMap<string, Schema>;
  readonly required?: readonly string[];
  /** Of properties that `properties` does not name. */
  readonly additional?: Schema;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly bounds?: Bounds;
  readonly pattern?: Pattern;
  readonly format?: Format;
}

/** The keywords whose value is a number. */
export const BOUNDS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
] as const;
export type Bounds = { readonly [Name in (typeof BOUNDS)[number]]?: number };

/** Definitions by name, for `$ref`. */
export type Definitions = ReadonlyMap<string, Schema>;

/** How large a plan may be, so that reading it and holding messages to it stay cheap. */
export const PLAN_LIMITS = {
  /** Of the JSON. */
  bytes: 200 * KB,
  /** Names of events, pages and screens, together. */
  names: 2_000,
  definitions: 500,
  /** Schemas, those within schemas included. */
  schemas: 20_000,
  /** Schemas within schemas. */
  depth: 32,
  patternLength: 200,
  /** Instructions of all patterns: `a{999}` has 999. */
  patternInstructions: 50_000,
  /** Steps of the checks of one message: about a millisecond. */
  stepsPerMessage: 20_000,
  /** Steps of the checks of one request's messages, for each of its bytes. */
  stepsPerByte: 4,
  /** A message shows this many violations. */
  violations: 10,
} as const;

/** The kinds whose messages have names. */
export const NAMED_KINDS = ["track", "page", "screen"] as const;
/** The kinds whose messages have none. */
export const UNNAMED_KINDS = ["identify", "group", "alias"] as const;

/** A tracking plan that was read and is free of mistakes. */
export interface Plan {
  readonly name?: string;
  readonly description?: string;
  /** Name → properties. A kind that is absent is not planned: its messages are not checked. */
  readonly track?: ReadonlyMap<string, Schema>;
  readonly page?: ReadonlyMap<string, Schema>;
  readonly screen?: ReadonlyMap<string, Schema>;
  readonly identify?: Schema;
  readonly group?: Schema;
  readonly alias?: Schema;
  /** What messages are whose name the plan does not list. */
  readonly unplanned: "allow" | "violation";
  readonly definitions: Definitions;
}

/** A mistake in a plan. */
export interface PlanIssue {
  /** A JSON pointer: `/track/Order Completed/properties/total/type`. */
  readonly path: string;
  readonly message: string;
}
