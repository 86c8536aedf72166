import type {
  AudienceInput,
  AudiencePatch,
  ComputedTraitInput,
  ComputedTraitPatch,
} from "@sluice/control-api";
import type { Store, Versioned } from "@sluice/event-log";
import { audienceKey, formatTime } from "@sluice/protocol";
import { type Clock, keyedSerialQueue } from "@sluice/resilience";
import type { ManagedFields, ManagedKind } from "./audience-kind.js";
import { AUDIENCES, withoutAbsent } from "./audience-kind.js";
import { computedIssues, type DefinitionIssue, destinationIssues, nameIssues } from "./definition-issues.js";
import {
  AUDIENCE,
  type AudienceDocument,
  COMPUTED_TRAIT,
  type ComputedTraitDocument,
} from "./definitions.js";

const COMPUTED_TRAITS: ManagedKind<ComputedTraitDocument, ComputedTraitInput, ComputedTraitPatch> = {
  kind: COMPUTED_TRAIT,
  documentOf: (input, { key, createdAt }) => ({
    name: input.name,
    key,
    kind: input.kind,
    event: input.event,
    ...(input.property === undefined ? {} : { property: input.property }),
    ...(input.withinMs === undefined ? {} : { withinMs: input.withinMs }),
    destinationIds: [...new Set(input.destinationIds)],
    enabled: input.enabled ?? true,
    createdAt,
  }),
  /** Null removes the property or the window. */
  patched(document, { version: _, property, withinMs, ...fields }) {
    const { property: oldProperty, withinMs: oldWithinMs, ...rest } = document;
    return {
      ...rest,
      ...withoutAbsent(fields),
      ...withoutAbsent({
        property: property === undefined ? oldProperty : property,
        withinMs: withinMs === undefined ? oldWithinMs : withinMs,
      }),
    };
  },
  issues: async (_store, _id, fields) => computedIssues(fields),
  dependents: async () => [],
};

export type DefinitionChange<Document> =
  | { readonly kind: "changed"; readonly definition: Versioned<Document> }
  | { readonly kind: "invalid"; readonly issues: readonly DefinitionIssue[] }
  /** Another audience or computed trait has the key already. */
  | { readonly kind: "key_taken"; readonly key: string; readonly by: string };

export type Removal =
  | { readonly kind: "removed" }
  | { readonly kind: "not_found" }
  /** Audiences whose condition names it. */
  | { readonly kind: "named"; readonly by: readonly string[] };

export interface DefinitionParts {
  readonly store: Pick<Store, "config">;
  readonly clock: Clock;
  /** A new id. */
  readonly id: string;
}

export function createAudience(
  parts: DefinitionParts,
  input: AudienceInput,
): Promise<DefinitionChange<AudienceDocument>> {
  return create(AUDIENCES, parts, input);
}

export function createComputedTrait(
  parts: DefinitionParts,
  input: ComputedTraitInput,
): Promise<DefinitionChange<ComputedTraitDocument>> {
  return create(COMPUTED_TRAITS, parts, input);
}

/** Rejects with `VersionConflict` if the audience was changed since it was read. */
export function patchAudience(
  store: Pick<Store, "config">,
  known: Versioned<AudienceDocument>,
  patch: AudiencePatch,
): Promise<DefinitionChange<AudienceDocument>> {
  return change(AUDIENCES, store, known, patch);
}

/** Rejects with `VersionConflict` if the computed trait was changed since it was read. */
export function patchComputedTrait(
  store: Pick<Store, "config">,
  known: Versioned<ComputedTraitDocument>,
  patch: ComputedTraitPatch,
): Promise<DefinitionChange<ComputedTraitDocument>> {
  return change(COMPUTED_TRAITS, store, known, patch);
}

export function removeAudience(store: Pick<Store, "config">, id: string): Promise<Removal> {
  return remove(AUDIENCES, store, id);
}

export function removeComputedTrait(store: Pick<Store, "config">, id: string): Promise<Removal> {
  return remove(COMPUTED_TRAITS, store, id);
}

/**
 * Creations under one key run one after another, so that the second of two finds the key taken. There is one queue for all stores: a
 * request with an idempotency key has a `config` object of its own, so the queue cannot be found by it.
 */
const creations = keyedSerialQueue();

async function create<Document extends ManagedFields, Input extends ManagedFields, Patch>(
  kind: ManagedKind<Document, Input, Patch>,
  { store, clock, id }: DefinitionParts,
  input: Input,
): Promise<DefinitionChange<Document>> {
  const key = audienceKey(input.name);
  return creations(key, async () => {
    const issues = await issuesOf(kind, store, id, input, input.destinationIds);
    if (issues.length > 0) return { kind: "invalid", issues };
    const by = await ownerOf(store, key);
    if (by !== undefined) return { kind: "key_taken", key, by };
    const document = kind.documentOf(input, { key, createdAt: formatTime(clock.now()) });
    return { kind: "changed", definition: await store.config.put(kind.kind, id, document, 0) };
  });
}

async function change<
  Document extends ManagedFields,
  Input extends ManagedFields,
  Patch extends { readonly destinationIds?: readonly string[] },
>(
  kind: ManagedKind<Document, Input, Patch>,
  store: Pick<Store, "config">,
  { id, value, version }: Versioned<Document>,
  patch: Patch,
): Promise<DefinitionChange<Document>> {
  const document = kind.patched(value, patch);
  // Destinations that were deleted since may stay: only new ones are checked.
  const issues = await issuesOf(kind, store, id, document, patch.destinationIds);
  if (issues.length > 0) return { kind: "invalid", issues };
  return { kind: "changed", definition: await store.config.put(kind.kind, id, document, version) };
}

async function remove<Document extends ManagedFields, Input extends ManagedFields, Patch>(
  kind: ManagedKind<Document, Input, Patch>,
  store: Pick<Store, "config">,
  id: string,
): Promise<Removal> {
  const by = await kind.dependents(store, id);
  if (by.length > 0) return { kind: "named", by };
  return (await store.config.delete(kind.kind, id)) ? { kind: "removed" } : { kind: "not_found" };
}

async function issuesOf<Document extends ManagedFields, Input extends ManagedFields, Patch>(
  kind: ManagedKind<Document, Input, Patch>,
  store: Pick<Store, "config">,
  id: string,
  fields: Input | Document,
  destinationIds: readonly string[] | undefined,
): Promise<readonly DefinitionIssue[]> {
  return [
    ...nameIssues(fields.name),
    ...(await kind.issues(store, id, fields)),
    ...(await destinationIssues(store, destinationIds)),
  ];
}

/** The id of the audience or computed trait with a key; undefined if the key is free. */
async function ownerOf(store: Pick<Store, "config">, key: string): Promise<string | undefined> {
  const [audiences, computed] = await Promise.all([
    store.config.list<AudienceDocument>(AUDIENCE),
    store.config.list<ComputedTraitDocument>(COMPUTED_TRAIT),
  ]);
  return [...audiences, ...computed].find(({ value }) => value.key === key)?.id;
}
