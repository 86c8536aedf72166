import type { AudienceInput, AudiencePatch, SyncSchedule } from "@sluice/control-api";
import { audiencesNamed } from "../conditions/evaluate.js";
import { conditionIssues, type DefinitionIssue } from "./definition-issues.js";
import { AUDIENCE, type AudienceDocument } from "./definitions.js";
import { type ManagedKind, withoutAbsent } from "./managed-kind.js";

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
