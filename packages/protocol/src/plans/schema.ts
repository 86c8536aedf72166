import type { Format } from "./formats.js";
import type { Pattern } from "./pattern.js";

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
