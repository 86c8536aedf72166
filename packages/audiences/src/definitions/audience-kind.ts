import type { AudienceInput, AudiencePatch, SyncSchedule } from "@sluice/control-api";
import type { Store } from "@sluice/event-log";
import { audiencesNamed } from "../conditions/evaluate.js";
import { conditionIssues, type DefinitionIssue } from "./definition-issues.js";
import { AUDIENCE, type AudienceDocument, type COMPUTED_TRAIT } from "./definitions.js";

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

/** The longest schedule: a year. */
const LONGEST_MS = 365 * 24 * 60 * 60 * 1_000;

export const AUDIENCES: ManagedKind<AudienceDocument, AudienceInput, AudiencePatch> = {
  kind: AUDIENCE,
  documentOf: (input, { key, createdAt }) => ({
    name: input.name,
    key,
    condition: input.condition,
    destinationIds: [...new Set(input.destinationIds)],
    sync: scheduleOf(input.sync),
    trackEvents: input.trackEvents ?? false,
    enabled: input.enabled ?? true,
    paused: false,
    createdAt,
  }),
  patched: (document, { version: _, sync, ...fields }) => ({
    ...document,
    ...withoutAbsent(fields),
    sync: { ...document.sync, ...sync },
  }),
  issues: async (store, id, { condition, sync }) => [
    ...(await conditionIssues(store, id, condition)),
    ...scheduleIssues(sync),
  ],
  async dependents(store, id) {
    const audiences = await store.config.list<AudienceDocument>(AUDIENCE);
    return audiences
      .filter(({ value }) => audiencesNamed(value.condition).includes(id))
      .map((other) => other.id);
  },
};

function scheduleOf(sync: SyncSchedule = {}): Required<SyncSchedule> {
  return { initialDelayMs: sync.initialDelayMs ?? 0, everyMs: sync.everyMs ?? 0 };
}

function scheduleIssues(sync: SyncSchedule | undefined): readonly DefinitionIssue[] {
  return Object.entries(scheduleOf(sync))
    .filter(([, ms]) => !Number.isInteger(ms) || ms < 0 || ms > LONGEST_MS)
    .map(([field]) => ({
      code: "schedule_not_integer",
      path: `sync.${field}`,
      message: "It must be a whole number of milliseconds, from 0 to a year",
    }));
}
