import type { Offset, ProfileStore } from "@sluice/event-log";
import { type DefinitionSet, definitionSetOf } from "../../definitions/definition-set.js";
import type { AggregateProgress, DefinitionState } from "../../definitions/definition-state.js";
import type { CrashMarker } from "../../profiles/crash-marker.js";
import { offsetIn, ownCursor, partitionOfCursor } from "../../profiles/partition-offsets.js";
import type { SetAside } from "../../profiles/set-aside.js";
import type { Numbers, UnitOfWork } from "../../profiles/unit-of-work.js";

/**
 * Names of the engine's documents in the store, beside `aspect:<number>`, `definition:<id>` and, for each partition but the first,
 * `cursor:<partition>` with the offset in its log. The first one's is the cursor of the store.
 */
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
  readonly cursors: (Offset | undefined)[];
}

export async function loadEngineState(store: ProfileStore, newNonce: () => string): Promise<EngineState> {
  const documents = await store.documents();
  const aggregates = new Map<number, AggregateProgress>();
  const states = new Map<string, DefinitionState>();
  const cursors: EngineState["cursors"] = [await store.cursor()];
  for (const [name, json] of documents) {
    const [kind, id] = [name.slice(0, name.indexOf(":")), name.slice(name.indexOf(":") + 1)];
    if (kind === "aspect") aggregates.set(Number(id), JSON.parse(json) as AggregateProgress);
    else if (kind === "definition") states.set(id, JSON.parse(json) as DefinitionState);
    else if (kind === "cursor") cursors[Number(id)] = offsetIn(Number(id), Number(json) as Offset);
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
    cursors,
  };
}

/** Messages up to `cursor` are counted, of the partition that it belongs to. */
export function moveCursor(unit: UnitOfWork, { cursors }: EngineState, cursor: Offset): void {
  const partition = partitionOfCursor(cursor);
  cursors[partition] = cursor;
  if (partition === 0) unit.moveCursor(cursor);
  else unit.putDocument(`cursor:${partition}`, ownCursor(cursor));
}

/** How far the log of a partition other than the first is counted, by the documents in the store. Undefined: nothing of it is. */
export function storedCursor(documents: ReadonlyMap<string, string>, partition: number): Offset | undefined {
  const json = documents.get(`cursor:${partition}`);
  return json === undefined ? undefined : (Number(json) as Offset);
}
