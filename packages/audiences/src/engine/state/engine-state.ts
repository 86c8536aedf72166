import { BEFORE_FIRST, type Offset, type ProfileStore } from "@sluice/event-log";
import { audiencesNamed, eventConditions, traitsNamed } from "../../conditions/evaluate.js";
import { type DefinitionSet, definitionSetOf } from "../../definitions/definition-set.js";
import {
  type AggregateProgress,
  type DefinitionState,
  goLive,
  isFlushDue,
  isRead,
  isResendDue,
  isScanned,
  nextWakeMs,
} from "../../definitions/definition-state.js";
import { AUDIENCE, type Definition } from "../../definitions/definitions.js";
import type { CrashMarker, SetAside } from "../../profiles/crash-marker.js";
import type { Numbers, UnitOfWork } from "../../profiles/unit-of-work.js";

/** Names of the engine's documents in the store, beside `aspect:<number>` and `definition:<id>`. */
export const DOCUMENTS = { numbers: "numbers", crashMarker: "attempt", setAside: "set-aside" } as const;

/** The engine's own documents, in memory. */
export interface EngineState {
  readonly numbers: Numbers;
  /** By spec number. */
  readonly aggregates: Map<number, AggregateProgress>;
  /** By definition. */
  readonly states: Map<string, DefinitionState>;
  /** The marker as it was stored when the state was loaded. */
  readonly storedMarker: CrashMarker | undefined;
  /** Messages that are not counted, oldest first. */
  setAside: readonly SetAside[];
  definitions: DefinitionSet;
  /** Messages up to here are counted. */
  cursor: Offset;
}

export async function loadEngineState(store: ProfileStore, newNonce: () => string): Promise<EngineState> {
  const documents = await store.documents();
  const aggregates = new Map<number, AggregateProgress>();
  const states = new Map<string, DefinitionState>();
  for (const [name, json] of documents) {
    const [kind, id] = [name.slice(0, name.indexOf(":")), name.slice(name.indexOf(":") + 1)];
    if (kind === "aspect") aggregates.set(Number(id), JSON.parse(json) as AggregateProgress);
    else if (kind === "definition") states.set(id, JSON.parse(json) as DefinitionState);
  }
  const parse = <Value>(name: string): Value | undefined => {
    const json = documents.get(name);
    return json === undefined ? undefined : (JSON.parse(json) as Value);
  };
  return {
    // A new nonce for each file: one that replaces a damaged file counts from 1 again, and its message ids must be new to receivers.
    numbers: parse<Numbers>(DOCUMENTS.numbers) ?? {
      nonce: newNonce(),
      nextProfile: 1,
      nextSeq: 1,
      nextAspect: 1,
    },
    aggregates,
    states,
    storedMarker: parse<CrashMarker>(DOCUMENTS.crashMarker),
    setAside: parse<readonly SetAside[]>(DOCUMENTS.setAside) ?? [],
    definitions: definitionSetOf(states, aggregates),
    cursor: (await store.cursor()) ?? BEFORE_FIRST,
  };
}

export function moveCursor(unit: UnitOfWork, loaded: EngineState, cursor: Offset): void {
  loaded.cursor = cursor;
  unit.moveCursor(cursor);
}

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

/** What there is to do, as far as the engine knows. */
export interface EngineStatus {
  /** Messages up to here are counted. */
  readonly cursor: Offset;
  /** History has to be read from here on, by `readHistory`. Absent: all of it is read. */
  readonly historyAfter?: Offset;
  /** Whether `work` has something to do now. */
  readonly hasWork: boolean;
  /** When `tick` or `work` has something to do. */
  readonly wakeAtMs?: number;
  /** Events that are not part of the computed traits they belong to, because a limit was reached. */
  readonly leftOut: number;
  /** How many messages are remembered that the engine does not count because it failed over them. */
  readonly setAside: number;
}

/** `nextDueMs`: when the next profile has to be looked at. */
export function statusOf(loaded: EngineState, nextDueMs: number | undefined, nowMs: number): EngineStatus {
  const states = [...loaded.states.values()];
  const historyAfter = earliest(
    Array.from(loaded.aggregates.values(), (progress) => (isRead(progress) ? undefined : progress.cursor)),
  );
  const wakeAtMs = earliest([nextDueMs, ...states.map((state) => nextWakeMs(state, nowMs))]);
  return {
    cursor: loaded.cursor,
    hasWork: states.some((state) => isScanned(state) || isFlushDue(state, nowMs) || isResendDue(state)),
    leftOut: states.reduce((sum, { leftOut }) => sum + leftOut.events, 0),
    setAside: loaded.setAside.length,
    ...(historyAfter === undefined ? {} : { historyAfter }),
    ...(wakeAtMs === undefined ? {} : { wakeAtMs }),
  };
}

function earliest<Value extends number>(values: readonly (Value | undefined)[]): Value | undefined {
  let least: Value | undefined;
  for (const value of values)
    if (value !== undefined && (least === undefined || value < least)) least = value;
  return least;
}
