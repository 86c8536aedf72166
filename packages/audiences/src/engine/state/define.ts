import { BEFORE_FIRST } from "@sluice/event-log";
import { specKey } from "../../conditions/aggregate.js";
import { definitionSetOf, specsOf } from "../../definitions/definition-set.js";
import type { AggregateProgress } from "../../definitions/definition-state.js";
import { COMPUTED_TRAIT, type Definition } from "../../definitions/definitions.js";
import { editedState, newState } from "../../definitions/edit-definition.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import type { EngineState } from "./engine-state.js";
import { promote } from "./engine-state.js";

/** Makes the engine work by these definitions: prepares new ones, evaluates changed ones again, forgets those that are gone. */
export function define(unit: UnitOfWork, loaded: EngineState, definitions: readonly Definition[]): void {
  defineStates(unit, loaded, definitions);
  defineAggregates(unit, loaded, definitions);
  loaded.definitions = definitionSetOf(loaded.states, loaded.aggregates);
  promote(unit, loaded);
}

function defineStates(unit: UnitOfWork, loaded: EngineState, definitions: readonly Definition[]): void {
  const { states } = loaded;
  const wanted = new Set(definitions.map(({ id }) => id));
  const changedKeys = changedTraitKeys(loaded, definitions);
  for (const id of [...states.keys()]) {
    if (wanted.has(id)) continue;
    states.delete(id);
    unit.removeDefinition(id);
  }
  const { nowMs } = unit;
  const { nextSeq } = unit.numbers;
  for (const definition of definitions) {
    const known = states.get(definition.id);
    const state =
      known === undefined
        ? newState(definition, nowMs)
        : editedState(known, definition, { nowMs, nextSeq, changedKeys });
    if (state === known) continue;
    states.set(definition.id, state);
    unit.putState(state);
  }
}

/** Keys of computed traits that are new or gone. */
function changedTraitKeys(loaded: EngineState, definitions: readonly Definition[]): ReadonlySet<string> {
  const before = new Set(loaded.definitions.computedByKey.keys());
  const after = new Set(
    definitions.flatMap(({ kind, document }) => (kind === COMPUTED_TRAIT ? [document.key] : [])),
  );
  return new Set([...before, ...after].filter((key) => !(before.has(key) && after.has(key))));
}

/** One aggregate for each different spec that the definitions need. */
function defineAggregates(
  unit: UnitOfWork,
  { aggregates, cursor }: EngineState,
  definitions: readonly Definition[],
): void {
  const needed = new Set<string>();
  const known = new Set(Array.from(aggregates.values(), ({ aspect }) => specKey(aspect)));
  for (const spec of specsOf(definitions)) {
    const key = specKey(spec);
    needed.add(key);
    if (known.has(key)) continue;
    const number = unit.takeSpecNumber();
    const progress: AggregateProgress = { aspect: spec, upTo: cursor, cursor: BEFORE_FIRST };
    known.add(key);
    aggregates.set(number, progress);
    unit.putAggregate(number, progress);
  }
  for (const [number, { aspect }] of aggregates) {
    if (needed.has(specKey(aspect))) continue;
    aggregates.delete(number);
    unit.putAggregate(number, undefined);
  }
}
