import type { Store, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import {
  type AudienceInput,
  type AudiencePatch,
  audienceKey,
  COMPUTED_TRAIT_KINDS,
  type ComputedTraitDefinition,
  type ComputedTraitInput,
  type ComputedTraitPatch,
  type Condition,
  formatTime,
  type SyncSchedule,
  validateCondition,
} from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { audiencesNamed } from "../conditions/evaluate.js";
import {
  AUDIENCE,
  type AudienceDocument,
  COMPUTED_TRAIT,
  type ComputedTraitDocument,
} from "./definitions.js";
import { inTurnByKey } from "./in-turn.js";
import { circle } from "./plan.js";

/** What is wrong with a definition: the field, and a sentence. */
export interface DefinitionIssue {
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

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

/** The longest schedule: a year. */
const LONGEST_MS = 365 * 24 * 60 * 60 * 1_000;
const LONGEST_NAME = 200;

/** By key, one at a time: of two that are made at once under one name, the second finds the key taken. */
const making = inTurnByKey();

export function createAudience(
  parts: DefinitionParts,
  input: AudienceInput,
): Promise<DefinitionChange<AudienceDocument>> {
  return making(audienceKey(input.name), () => makeAudience(parts, input));
}

export function createComputedTrait(
  parts: DefinitionParts,
  input: ComputedTraitInput,
): Promise<DefinitionChange<ComputedTraitDocument>> {
  return making(audienceKey(input.name), () => makeComputedTrait(parts, input));
}

async function makeAudience(
  { store, clock, id }: DefinitionParts,
  input: AudienceInput,
): Promise<DefinitionChange<AudienceDocument>> {
  const issues = [
    ...nameIssues(input.name),
    ...(await audienceIssues(store, id, input)),
    ...(await destinationIssues(store, input.destinationIds)),
  ];
  if (issues.length > 0) return { kind: "invalid", issues };
  const key = audienceKey(input.name);
  const by = await ownerOf(store, key);
  if (by !== undefined) return { kind: "key_taken", key, by };
  const document: AudienceDocument = {
    name: input.name,
    key,
    condition: input.condition,
    destinationIds: [...new Set(input.destinationIds)],
    sync: scheduleOf(input.sync),
    trackEvents: input.trackEvents ?? false,
    enabled: input.enabled ?? true,
    paused: false,
    createdAt: formatTime(clock.now()),
  };
  return { kind: "changed", definition: await store.config.put(AUDIENCE, id, document, 0) };
}

/** Rejects with `VersionConflict` when it was changed since it was read. */
export async function patchAudience(
  store: Pick<Store, "config">,
  known: Versioned<AudienceDocument>,
  patch: AudiencePatch,
): Promise<DefinitionChange<AudienceDocument>> {
  const { id } = known;
  const { version: _, sync, ...fields } = patch;
  const document: AudienceDocument = {
    ...known.value,
    ...withoutAbsent(fields),
    sync: { ...known.value.sync, ...sync },
  };
  const issues = [
    ...nameIssues(document.name),
    ...(await audienceIssues(store, id, document)),
    ...(await destinationIssues(store, patch.destinationIds)),
  ];
  if (issues.length > 0) return { kind: "invalid", issues };
  return { kind: "changed", definition: await store.config.put(AUDIENCE, id, document, known.version) };
}

export async function removeAudience(store: Pick<Store, "config">, id: string): Promise<Removal> {
  const audiences = await store.config.list<AudienceDocument>(AUDIENCE);
  const by = audiences.filter((other) => audiencesNamed(other.value.condition).includes(id));
  if (by.length > 0) return { kind: "named", by: by.map((other) => other.id) };
  return (await store.config.delete(AUDIENCE, id)) ? { kind: "removed" } : { kind: "not_found" };
}

async function makeComputedTrait(
  { store, clock, id }: DefinitionParts,
  input: ComputedTraitInput,
): Promise<DefinitionChange<ComputedTraitDocument>> {
  const issues = [
    ...nameIssues(input.name),
    ...computedIssues(input),
    ...(await destinationIssues(store, input.destinationIds)),
  ];
  if (issues.length > 0) return { kind: "invalid", issues };
  const key = audienceKey(input.name);
  const by = await ownerOf(store, key);
  if (by !== undefined) return { kind: "key_taken", key, by };
  const document: ComputedTraitDocument = {
    name: input.name,
    key,
    kind: input.kind,
    event: input.event,
    ...(input.property === undefined ? {} : { property: input.property }),
    ...(input.withinMs === undefined ? {} : { withinMs: input.withinMs }),
    destinationIds: [...new Set(input.destinationIds)],
    enabled: input.enabled ?? true,
    createdAt: formatTime(clock.now()),
  };
  return { kind: "changed", definition: await store.config.put(COMPUTED_TRAIT, id, document, 0) };
}

/** Rejects with `VersionConflict` when it was changed since it was read. */
export async function patchComputedTrait(
  store: Pick<Store, "config">,
  known: Versioned<ComputedTraitDocument>,
  patch: ComputedTraitPatch,
): Promise<DefinitionChange<ComputedTraitDocument>> {
  const { id } = known;
  const { version: _, property, withinMs, ...fields } = patch;
  const { property: oldProperty, withinMs: oldWithinMs, ...rest } = known.value;
  const document: ComputedTraitDocument = {
    ...rest,
    ...withoutAbsent(fields),
    ...withoutAbsent({
      property: property === undefined ? oldProperty : property,
      withinMs: withinMs === undefined ? oldWithinMs : withinMs,
    }),
  };
  const issues = [
    ...nameIssues(document.name),
    ...computedIssues(document),
    ...(await destinationIssues(store, patch.destinationIds)),
  ];
  if (issues.length > 0) return { kind: "invalid", issues };
  return { kind: "changed", definition: await store.config.put(COMPUTED_TRAIT, id, document, known.version) };
}

export async function removeComputedTrait(store: Pick<Store, "config">, id: string): Promise<Removal> {
  return (await store.config.delete(COMPUTED_TRAIT, id)) ? { kind: "removed" } : { kind: "not_found" };
}

/** What is wrong with a condition: its form, audiences that do not exist, and circles through the audience `id`. */
export async function conditionIssues(
  store: Pick<Store, "config">,
  id: string | undefined,
  condition: unknown,
): Promise<readonly DefinitionIssue[]> {
  const issues = validateCondition(condition);
  if (issues.length > 0) return issues;
  const audiences = await store.config.list<AudienceDocument>(AUDIENCE);
  const named = audiencesNamed(condition as Condition);
  const missing = named.filter(
    (other) => other !== id && !audiences.some((audience) => audience.id === other),
  );
  if (missing.length > 0)
    return missing.map((other) => ({
      code: "audience_unknown",
      path: "condition",
      message: `There is no audience ${other}`,
    }));
  if (id === undefined) return [];
  const path = circle(
    id,
    named,
    audiences.map(({ id: other, value: document }) => ({ id: other, document })),
  );
  return path.length === 0
    ? []
    : [
        {
          code: "audience_circular",
          path: "condition",
          message: `The audience would depend on itself: ${path.join(" → ")}`,
        },
      ];
}

async function audienceIssues(
  store: Pick<Store, "config">,
  id: string,
  { condition, sync }: Pick<AudienceInput, "condition" | "sync">,
): Promise<readonly DefinitionIssue[]> {
  return [...(await conditionIssues(store, id, condition)), ...scheduleIssues(sync)];
}

function nameIssues(name: string): readonly DefinitionIssue[] {
  if (name.length > LONGEST_NAME)
    return [{ code: "name_too_long", path: "name", message: "A name has at most 200 characters" }];
  return audienceKey(name) === ""
    ? [
        {
          code: "name_without_key",
          path: "name",
          message: "A name needs a letter or a digit: the trait is named after it",
        },
      ]
    : [];
}

function scheduleOf(sync: SyncSchedule = {}): Required<SyncSchedule> {
  return { initialDelayMs: sync.initialDelayMs ?? 0, everyMs: sync.everyMs ?? 0 };
}

function scheduleIssues(sync: SyncSchedule | undefined): readonly DefinitionIssue[] {
  return Object.entries(scheduleOf(sync)).flatMap(([field, ms]) =>
    Number.isInteger(ms) && ms >= 0 && ms <= LONGEST_MS
      ? []
      : [
          {
            code: "schedule_not_integer",
            path: `sync.${field}`,
            message: "It must be a whole number of milliseconds, from 0 to a year",
          },
        ],
  );
}

/** What is wrong with what a computed trait is made of. */
export function computedIssues(input: ComputedTraitDefinition): readonly DefinitionIssue[] {
  const issues: DefinitionIssue[] = [];
  if (!COMPUTED_TRAIT_KINDS.includes(input.kind))
    issues.push({
      code: "kind_unknown",
      path: "kind",
      message: `It must be one of ${COMPUTED_TRAIT_KINDS.join(", ")}`,
    });
  else if (input.kind !== "count" && (input.property ?? "") === "")
    issues.push({
      code: "property_required",
      path: "property",
      message: "Every kind but count needs a property",
    });
  // An event condition has the same fields, and the same bounds.
  const { event, withinMs } = input;
  for (const { code, path, message } of validateCondition({
    kind: "event",
    event,
    times: { atLeast: 1 },
    ...(withinMs === undefined ? {} : { withinMs }),
  }))
    issues.push({ code, path: path.replace("condition.", ""), message });
  return issues;
}

async function destinationIssues(
  store: Pick<Store, "config">,
  destinationIds: readonly string[] = [],
): Promise<readonly DefinitionIssue[]> {
  const issues: DefinitionIssue[] = [];
  for (const [index, id] of destinationIds.entries())
    if ((await store.config.get(DOCUMENT_KINDS.destination, id)) === undefined)
      issues.push({
        code: "destination_unknown",
        path: `destinationIds[${index}]`,
        message: `There is no destination ${id}`,
      });
  return issues;
}

/** Which audience or computed trait has a key; undefined when it is free. */
async function ownerOf(store: Pick<Store, "config">, key: string): Promise<string | undefined> {
  const [audiences, computed] = await Promise.all([
    store.config.list<AudienceDocument>(AUDIENCE),
    store.config.list<ComputedTraitDocument>(COMPUTED_TRAIT),
  ]);
  return [...audiences, ...computed].find(({ value }) => value.key === key)?.id;
}

function withoutAbsent<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: NonNullable<Fields[Name]> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  ) as { [Name in keyof Fields]: NonNullable<Fields[Name]> };
}
