import { BEFORE_FIRST, type Offset, type ProfileStore } from "@sluice/event-log";
import { type DefinitionSet, definitionSetOf } from "../../definitions/definition-set.js";
import type { AggregateProgress, DefinitionState } from "../../definitions/definition-state.js";
import type { CrashMarker } from "../../profiles/crash-marker.js";
import type { SetAside } from "../../profiles/set-aside.js";
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
