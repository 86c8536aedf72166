import type { Store } from "@sluice/event-log";
import type { DefinitionIssue } from "./definition-issues.js";
import type { AUDIENCE, COMPUTED_TRAIT } from "./definitions.js";

/** The fields that all kinds of definitions have. */
export interface ManagedFields {
  readonly name: string;
  readonly destinationIds?: readonly string[];
}

/** What differs between the kinds of definitions that are created, changed and deleted in the same way. */
export interface ManagedKind<Document extends ManagedFields, Input extends ManagedFields, Patch> {
  readonly kind: typeof AUDIENCE | typeof COMPUTED_TRAIT;
  /** The document of a new definition. The input is valid. */
  documentOf(input: Input, fixed: { readonly key: string; readonly createdAt: string }): Document;
  patched(document: Document, patch: Patch): Document;
  /** What is wrong with the fields that only this kind has. */
  issues(
    store: Pick<Store, "config">,
    id: string,
    fields: Input | Document,
  ): Promise<readonly DefinitionIssue[]>;
  /** Ids of the definitions because of which `id` cannot be deleted. */
  dependents(store: Pick<Store, "config">, id: string): Promise<readonly string[]>;
}

/** The fields of a patch that have a value. */
export function withoutAbsent<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: NonNullable<Fields[Name]> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  ) as { [Name in keyof Fields]: NonNullable<Fields[Name]> };
}
