import type { ComputedTraitDefinition } from "@sluice/protocol";
import type { AccumulationAspect } from "../conditions/accumulate.js";
import { type Aspect, aspectKey, tallyOf } from "../conditions/aspect.js";
import { audiencesNamed, eventConditions, traitsNamed } from "../conditions/evaluate.js";
import type { AspectProgress, DefinitionState, Resend } from "../definitions/definition-state.js";
import { AUDIENCE, type Definition } from "../definitions/definitions.js";
import { makePlan, type Plan } from "../definitions/plan.js";
import type { Step } from "../profiles/step.js";
import type { EngineState } from "./engine-state.js";

export function newState(definition: Definition, { nowMs }: Step): DefinitionState {
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

function firstSyncMs({ kind, document }: Definition): number {
  // What is sent at once waits for no time: the clock may be set back to before the definition was made.
  if (kind !== AUDIENCE || (document.sync.initialDelayMs === 0 && document.sync.everyMs === 0)) return 0;
  return Date.parse(document.createdAt) + document.sync.initialDelayMs;
}

/** When a definition whose schedule was changed sends next. */
function nextSyncMs(definition: Definition, nowMs: number): number {
  const firstMs = firstSyncMs(definition);
  return firstMs === 0 ? 0 : Math.max(firstMs, nowMs);
}

/** `changedKeys`: of computed traits that were made or are gone, so that a trait of that name is another one now. */
export function edited(
  state: DefinitionState,
  definition: Definition,
  step: Step,
  changedKeys: ReadonlySet<string>,
): DefinitionState {
  const before = state.definition;
  const asksAnew =
    whatItAsks(before) !== whatItAsks(definition) ||
    (definition.kind === AUDIENCE &&
      traitsNamed(definition.document.condition).some((name) => changedKeys.has(name)));
  if (!asksAnew && JSON.stringify(before) === JSON.stringify(definition)) return state;
  const known = new Set(before.document.destinationIds);
  const added = definition.document.destinationIds.filter((id) => !known.has(id));
  const hasNewSync =
    before.kind === AUDIENCE &&
    definition.kind === AUDIENCE &&
    JSON.stringify(before.document.sync) !== JSON.stringify(definition.document.sync);
  return {
    ...state,
    definition,
    ...(asksAnew ? { phase: "history", evaluatedTo: 0, evaluated: 0, startedAtMs: step.nowMs } : {}),
    ...(hasNewSync ? { nextSyncAtMs: nextSyncMs(definition, step.nowMs) } : {}),
    resends: [
      ...stillWanted(state.resends, definition.document.destinationIds),
      ...(added.length === 0 ? [] : [{ destinationIds: added, after: -1, beforeSeq: step.numbers.nextSeq }]),
    ],
  };
}

/** A destination that was taken away is told nothing more. */
function stillWanted(resends: readonly Resend[], destinationIds: readonly string[]): Resend[] {
  return resends
    .map((resend) => ({
      ...resend,
      destinationIds: resend.destinationIds.filter((id) => destinationIds.includes(id)),
    }))
    .filter((resend) => resend.destinationIds.length > 0);
}

/** The part of a definition of which the evaluation depends. */
function whatItAsks(definition: Definition): string {
  return JSON.stringify(
    definition.kind === AUDIENCE ? definition.document.condition : aspectsOf([definition]),
  );
}

export function aspectsOf(definitions: readonly Definition[]): Aspect[] {
  return definitions.flatMap((definition): Aspect[] =>
    definition.kind === AUDIENCE
      ? eventConditions(definition.document.condition).map(tallyOf)
      : [accumulationOf(definition.document)],
  );
}

/** The aspect that a computed trait needs. */
export function accumulationOf({
  kind,
  event,
  property,
  withinMs,
}: ComputedTraitDefinition): AccumulationAspect {
  return {
    kind: "accumulation",
    of: kind,
    event,
    ...(property === undefined ? {} : { property }),
    ...(withinMs === undefined ? {} : { withinMs }),
  };
}

export function planOf(
  states: ReadonlyMap<string, DefinitionState>,
  progress: ReadonlyMap<number, AspectProgress>,
): Plan {
  const definitions = Array.from(states.values(), (state) => state.definition);
  const numbers = new Map([...progress].map(([number, { aspect }]) => [aspectKey(aspect), number]));
  const numberOf = (aspect: Aspect): number => numbers.get(aspectKey(aspect)) ?? -1;
  const aspectOf: Map<Parameters<Plan["aspectOf"]["get"]>[0], number> = new Map();
  for (const definition of definitions) {
    if (definition.kind === AUDIENCE)
      for (const event of eventConditions(definition.document.condition))
        aspectOf.set(event, numberOf(tallyOf(event)));
    else aspectOf.set(definition.document, numberOf(accumulationOf(definition.document)));
  }
  return makePlan(
    definitions,
    aspectOf,
    new Map([...progress].map(([number, { aspect }]) => [number, aspect])),
  );
}

/** Definitions whose history is read, and all that they name is live, begin to be evaluated. */
export function promote(step: Step, loaded: EngineState): void {
  const { states, plan } = loaded;
  const inPlanOrder = [...plan.computedTraits, ...plan.audiences];
  for (const { id } of inPlanOrder) {
    const state = states.get(id);
    if (state?.phase !== "history" || !isHistoryRead(state, loaded)) continue;
    if (!namedBy(state.definition, plan).every((other) => states.get(other)?.phase === "live")) continue;
    state.phase = "evaluating";
    state.evaluatedTo = 0;
    state.evaluateUpTo = step.numbers.nextProfile - 1;
    if (state.evaluateUpTo === 0) goLive(state, step.nowMs);
    step.stateChanged(state);
  }
}

export function goLive(state: DefinitionState, nowMs: number): void {
  state.phase = "live";
  state.finishedAtMs = nowMs;
}

/** Other definitions whose state the condition depends on. */
function namedBy(definition: Definition, plan: Plan): string[] {
  if (definition.kind !== AUDIENCE) return [];
  const { condition } = definition.document;
  const computed = traitsNamed(condition).flatMap((trait) => plan.computedByKey.get(trait)?.id ?? []);
  return [...audiencesNamed(condition), ...computed].filter((id) => plan.definitions.has(id));
}

function isHistoryRead(state: DefinitionState, loaded: EngineState): boolean {
  return historyRead(state, loaded) === 1;
}

/** How much of the history that a definition needs is read, 0 to 1. */
export function historyRead(state: DefinitionState, { plan, aspects }: EngineState): number {
  const { definition } = state;
  const keys =
    definition.kind === AUDIENCE ? eventConditions(definition.document.condition) : [definition.document];
  const parts = keys.map((key) => {
    const progress = aspects.get(plan.aspectOf.get(key) ?? -1);
    if (progress === undefined || progress.cursor >= progress.upTo) return 1;
    return (progress.cursor + 1) / (progress.upTo + 1);
  });
  return Math.min(1, ...parts);
}

/** Whether everybody is to be evaluated for it, and it is not paused. */
export function isScanned({ phase, definition }: DefinitionState): boolean {
  return phase === "evaluating" && !(definition.kind === AUDIENCE && definition.document.paused);
}

export function isResendDue({ resends, phase, definition }: DefinitionState): boolean {
  const { document, kind } = definition;
  return (
    resends.length > 0 && phase === "live" && document.enabled && !(kind === AUDIENCE && document.paused)
  );
}
