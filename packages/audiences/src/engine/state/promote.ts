import { BEFORE_FIRST } from "@sluice/event-log";
import { audiencesNamed, eventConditions, traitsNamed } from "../../conditions/evaluate.js";
import type { DefinitionSet } from "../../definitions/definition-set.js";
import { type DefinitionState, goLive, isRead } from "../../definitions/definition-state.js";
import { AUDIENCE, type Definition } from "../../definitions/definitions.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import type { EngineState } from "./engine-state.js";

/** Starts to evaluate definitions whose history is read and whose named definitions are all live. */
export function promote(unit: UnitOfWork, loaded: EngineState): void {
  const { states, definitions } = loaded;
  for (const { id } of [...definitions.computedTraits, ...definitions.audiences]) {
    const state = states.get(id);
    if (state?.phase !== "history" || historyRead(state, loaded) < 1) continue;
    const areNamedLive = namedBy(state.definition, definitions).every(
      (other) => states.get(other)?.phase === "live",
    );
    if (!areNamedLive) continue;
    state.phase = "evaluating";
    state.evaluatedTo = 0;
    state.evaluateUpTo = unit.numbers.nextProfile - 1;
    if (state.evaluateUpTo === 0) goLive(state, unit.nowMs);
    unit.putState(state);
  }
}

/** How much of the history that a definition needs is read, 0 to 1. */
export function historyRead(state: DefinitionState, { definitions, aggregates }: EngineState): number {
  const { definition } = state;
  const keys =
    definition.kind === AUDIENCE ? eventConditions(definition.document.condition) : [definition.document];
  const parts = keys.map((key) => {
    const progress = aggregates.get(definitions.specNumberOf.get(key) ?? -1);
    if (progress === undefined || isRead(progress)) return 1;
    return (progress.cursor - BEFORE_FIRST) / (progress.upTo - BEFORE_FIRST);
  });
  return Math.min(1, ...parts);
}

/** Other definitions that the condition depends on. */
function namedBy(definition: Definition, { byId, computedByKey }: DefinitionSet): string[] {
  if (definition.kind !== AUDIENCE) return [];
  const { condition } = definition.document;
  const computed = traitsNamed(condition).flatMap((trait) => computedByKey.get(trait)?.id ?? []);
  return [...audiencesNamed(condition), ...computed].filter((id) => byId.has(id));
}
