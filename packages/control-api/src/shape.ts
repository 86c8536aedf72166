import { type Static, type TLiteral, type TProperties, type TSchema, Type } from "@sinclair/typebox";

/** The type of the values that a schema accepts, read-only at any depth. */
export type Shape<S extends TSchema> = DeepReadonly<Static<S>>;

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** A string that is one of `words`. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  options: { readonly description?: string } = {},
) {
  return Type.Union(
    words.map((word): TLiteral<Word> => Type.Literal(word)),
    options,
  );
}

/** An object of a request: it may hold no other fields. */
export function closed<P extends TProperties>(
  properties: P,
  options: { readonly description?: string } = {},
) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** The schema with another description. */
export function described<S extends TSchema>(schema: S, description: string): S {
  return { ...schema, description };
}
