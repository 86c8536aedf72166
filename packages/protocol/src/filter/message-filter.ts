/**
 * The filter grammar of the debugger, the live stream and `sluice tail`:
 *
 *     type:track event:"Signed Up" user:42 outcome:failed -properties.plan:free checkout
 *
 * All terms must match; a field that is given twice matches either value. `-` before a term negates it, `*` at the end of
 * an unquoted value matches a prefix, and a term without a field is text that the message contains. The command line, the
 * collector and the dashboard share this code.
 */

/** Fields with a short name. Any path below properties, traits, context or integrations is a field too. */
export const FILTER_FIELDS = [
  "type",
  "event",
  "name",
  "user",
  "anonymous",
  "group",
  "id",
  "source",
  "destination",
  "outcome",
] as const;
export type FilterField = (typeof FILTER_FIELDS)[number];

export type FilterTerm = {
  readonly negated: boolean;
  readonly value: string;
  /** The value is a prefix. */
  readonly isPrefix: boolean;
} & (
  | { readonly kind: "field"; readonly field: FilterField }
  | { readonly kind: "path"; readonly path: readonly string[] }
  | { readonly kind: "text" }
);

export interface MessageFilter {
  readonly terms: readonly FilterTerm[];
}

/** Matches every message. */
export const EMPTY_FILTER: MessageFilter = Object.freeze({ terms: [] });
