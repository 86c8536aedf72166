import { traitsNamed } from "../conditions/evaluate.js";
import { specsOf } from "./definition-set.js";
import type { DefinitionState, Resend } from "./definition-state.js";
import { AUDIENCE, type Definition } from "./definitions.js";

export function newState(definition: Definition, nowMs: number): DefinitionState {
  return {
    definition,
    phase: "history",
    evaluatedTo: 0,
    evaluateUpTo: 0,
    evaluated: 0,
    size: 0,
    held: 0,
    leftOut: { users: 0, events: 0 },
    nextSyncAtMs: firstSyncMs(definition),
    resends: [],
    startedAtMs: nowMs,
  };
}

export interface Edit {
  readonly nowMs: number;
  /** The number of the next message in the outbox. */
  readonly nextSeq: number;
  /** Keys of computed traits that were created or deleted: a trait of that name is a different one now. */
  readonly changedKeys: ReadonlySet<string>;
}

/** The state after an edit; the same state if nothing changed. */
export function editedState(
  state: DefinitionState,
  definition: Definition,
  { nowMs, nextSeq, changedKeys }: Edit,
): DefinitionState {
  const before = state.definition;
  const mustEvaluate =
    evaluatedPart(before) !== evaluatedPart(definition) || namesAny(definition, changedKeys);
  if (!mustEvaluate && JSON.stringify(before) === JSON.stringify(definition)) return state;
  const known = new Set(before.document.destinationIds);
  const added = definition.document.destinationIds.filter((id) => !known.has(id));
  return {
    ...state,
    definition,
    ...(mustEvaluate ? { phase: "history", evaluatedTo: 0, evaluated: 0, startedAtMs: nowMs } : {}),
    ...(hasNewSchedule(before, definition) ? { nextSyncAtMs: nextSyncMs(definition, nowMs) } : {}),
    resends: [
      ...stillWanted(state.resends, definition.document.destinationIds),
      ...(added.length === 0 ? [] : [{ destinationIds: added, after: -1, beforeSeq: nextSeq }]),
    ],
  };
}

function firstSyncMs({ kind, document }: Definition): number {
  // Without a schedule nothing waits for a time: the clock may be set back to before the definition was created.
  if (kind !== AUDIENCE || (document.sync.initialDelayMs === 0 && document.sync.everyMs === 0)) return 0;
  return Date.parse(document.createdAt) + document.sync.initialDelayMs;
}

/** The next sync of a definition whose schedule was changed. */
function nextSyncMs(definition: Definition, nowMs: number): number {
  const firstMs = firstSyncMs(definition);
  return firstMs === 0 ? 0 : Math.max(firstMs, nowMs);
}

function hasNewSchedule(before: Definition, after: Definition): boolean {
  return (
    before.kind === AUDIENCE &&
    after.kind === AUDIENCE &&
    JSON.stringify(before.document.sync) !== JSON.stringify(after.document.sync)
  );
}

/** Destinations that were removed receive nothing more. */
function stillWanted(resends: readonly Resend[], destinationIds: readonly string[]): Resend[] {
  return resends
    .map((resend) => ({
      ...resend,
      destinationIds: resend.destinationIds.filter((id) => destinationIds.includes(id)),
    }))
    .filter((resend) => resend.destinationIds.length > 0);
}

/** The part of a definition that evaluation depends on. */
function evaluatedPart(definition: Definition): string {
  return JSON.stringify(definition.kind === AUDIENCE ? definition.document.condition : specsOf([definition]));
}

function namesAny(definition: Definition, traits: ReadonlySet<string>): boolean {
  return (
    definition.kind === AUDIENCE &&
    traitsNamed(definition.document.condition).some((name) => traits.has(name))
  );
}
