import type { ComputedTraitDefinition } from "@sluice/control-api";
import type { EventCondition } from "@sluice/protocol";
import { type AggregateSpec, countSpecOf, specKey } from "../conditions/aggregate.js";
import { audiencesNamed, eventConditions, holds, type Reading, traitsNamed } from "../conditions/evaluate.js";
import type { ValueSpec } from "../conditions/value.js";
import type { AggregateProgress, DefinitionState } from "./definition-state.js";
import { AUDIENCE, COMPUTED_TRAIT, type Definition } from "./definitions.js";

export interface NumberedSpec {
  readonly number: number;
  readonly spec: AggregateSpec;
}

type Of<Kind extends Definition["kind"]> = Extract<Definition, { readonly kind: Kind }>;
export type Audience = Of<typeof AUDIENCE>;
export type ComputedTrait = Of<typeof COMPUTED_TRAIT>;

/**
 * Definitions, indexed by what can change them: the cost of a message depends on the audiences that name its event or its traits, not on
 * how many others there are. Built again whenever a definition changes.
 */
export interface DefinitionSet {
  readonly byId: ReadonlyMap<string, Definition>;
  /** Each audience comes after those that its condition names. */
  readonly audiences: readonly Audience[];
  readonly computedTraits: readonly ComputedTrait[];
  readonly computedByKey: ReadonlyMap<string, ComputedTrait>;
  /** By number. */
  readonly specs: ReadonlyMap<number, AggregateSpec>;
  /** The number of the spec of each event condition and each computed trait. */
  readonly specNumberOf: ReadonlyMap<EventCondition | ComputedTrait["document"], number>;
  readonly specsByEvent: ReadonlyMap<string, readonly NumberedSpec[]>;
  readonly audiencesBySpec: ReadonlyMap<number, readonly Audience[]>;
  readonly computedBySpec: ReadonlyMap<number, readonly ComputedTrait[]>;
  /** By the name of a trait, and by the first part of a dotted name. */
  readonly audiencesByTrait: ReadonlyMap<string, readonly Audience[]>;
  /** Audiences whose condition names this one. */
  readonly dependents: ReadonlyMap<string, readonly Audience[]>;
  /**
   * Audiences to evaluate for a new profile, whatever its first message is: those that include a user of whom nothing is known,
   * and those that name other audiences, because not being a member of another one is no change that would trigger them.
   */
  readonly ofNewProfiles: readonly Audience[];
  /** Index in `audiences`. */
  readonly rank: ReadonlyMap<string, number>;
}

const NOTHING_KNOWN: Reading = { trait: () => undefined, count: () => 0, isMember: () => false };

export function definitionSet(
  definitions: readonly Definition[],
  specNumberOf: DefinitionSet["specNumberOf"],
  specs: DefinitionSet["specs"],
): DefinitionSet {
  const audiences = inOrder(definitions.filter((definition) => definition.kind === AUDIENCE));
  const computedTraits = definitions.filter((definition) => definition.kind === COMPUTED_TRAIT);
  const computedBySpec = new Map<number, ComputedTrait[]>();
  for (const computed of computedTraits)
    addTo(computedBySpec, specNumberOf.get(computed.document) ?? -1, computed);
  const specsByEvent = new Map<string, NumberedSpec[]>();
  for (const [number, spec] of specs) {
    const ofEvent = specsByEvent.get(spec.event);
    if (ofEvent === undefined) specsByEvent.set(spec.event, [{ number, spec }]);
    else ofEvent.push({ number, spec });
  }
  return {
    byId: new Map(definitions.map((definition) => [definition.id, definition])),
    audiences,
    computedTraits,
    computedByKey: new Map(computedTraits.map((computed) => [computed.document.key, computed])),
    specs,
    specNumberOf,
    specsByEvent,
    computedBySpec,
    ...indexAudiences(audiences, specNumberOf),
    ofNewProfiles: audiences.filter(
      ({ document: { condition } }) =>
        holds(condition, NOTHING_KNOWN) || audiencesNamed(condition).length > 0,
    ),
    rank: new Map(audiences.map((audience, rank) => [audience.id, rank])),
  };
}

function indexAudiences(
  audiences: readonly Audience[],
  specNumberOf: DefinitionSet["specNumberOf"],
): Pick<DefinitionSet, "audiencesBySpec" | "audiencesByTrait" | "dependents"> {
  const audiencesBySpec = new Map<number, Audience[]>();
  const audiencesByTrait = new Map<string, Audience[]>();
  const dependents = new Map<string, Audience[]>();
  for (const audience of audiences) {
    const { condition } = audience.document;
    for (const event of eventConditions(condition))
      addTo(audiencesBySpec, specNumberOf.get(event) ?? -1, audience);
    for (const trait of traitsNamed(condition)) {
      addTo(audiencesByTrait, trait, audience);
      addTo(audiencesByTrait, trait.split(".", 1)[0] ?? trait, audience);
    }
    for (const named of audiencesNamed(condition)) addTo(dependents, named, audience);
  }
  return { audiencesBySpec, audiencesByTrait, dependents };
}

/** The set of the engine's definitions, with the numbers of their aggregates. */
export function definitionSetOf(
  states: ReadonlyMap<string, DefinitionState>,
  progress: ReadonlyMap<number, AggregateProgress>,
): DefinitionSet {
  const definitions = Array.from(states.values(), (state) => state.definition);
  const numbers = new Map([...progress].map(([number, { aspect }]) => [specKey(aspect), number]));
  const numberOf = (spec: AggregateSpec): number => numbers.get(specKey(spec)) ?? -1;
  const specNumberOf = new Map<EventCondition | ComputedTrait["document"], number>();
  for (const definition of definitions) {
    if (definition.kind === AUDIENCE)
      for (const event of eventConditions(definition.document.condition))
        specNumberOf.set(event, numberOf(countSpecOf(event)));
    else specNumberOf.set(definition.document, numberOf(valueSpecOf(definition.document)));
  }
  const specs = new Map([...progress].map(([number, { aspect }]) => [number, aspect]));
  return definitionSet(definitions, specNumberOf, specs);
}

/** The aggregates that definitions need. */
export function specsOf(definitions: readonly Definition[]): AggregateSpec[] {
  return definitions.flatMap((definition): AggregateSpec[] =>
    definition.kind === AUDIENCE
      ? eventConditions(definition.document.condition).map(countSpecOf)
      : [valueSpecOf(definition.document)],
  );
}

/** The aggregate that a computed trait needs. */
export function valueSpecOf({ kind, event, property, withinMs }: ComputedTraitDefinition): ValueSpec {
  return {
    kind: "accumulation",
    of: kind,
    event,
    ...(property === undefined ? {} : { property }),
    ...(withinMs === undefined ? {} : { withinMs }),
  };
}

/**
 * The ids of audiences on a path from `id` back to `id`, if its condition named `named`; empty if there is none.
 */
export function dependencyCycle(
  id: string,
  named: readonly string[],
  audiences: readonly Pick<Audience, "id" | "document">[],
): string[] {
  const byId = new Map(audiences.map((audience) => [audience.id, audience.document.condition]));
  const search = (from: readonly string[], path: readonly string[]): string[] => {
    for (const next of from) {
      if (next === id) return [...path, next];
      const condition = byId.get(next);
      if (condition === undefined || path.includes(next)) continue;
      const found = search(audiencesNamed(condition), [...path, next]);
      if (found.length > 0) return found;
    }
    return [];
  };
  return search(named, [id]);
}

function inOrder(audiences: readonly Audience[]): Audience[] {
  const byId = new Map(audiences.map((audience) => [audience.id, audience]));
  const placed = new Set<string>();
  const ordered: Audience[] = [];
  const place = (audience: Audience): void => {
    if (placed.has(audience.id)) return;
    placed.add(audience.id);
    for (const named of audiencesNamed(audience.document.condition)) {
      const other = byId.get(named);
      if (other !== undefined) place(other);
    }
    ordered.push(audience);
  };
  for (const audience of audiences) place(audience);
  return ordered;
}

/** Adds a value to the list of its key, once. */
function addTo<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else if (!list.includes(value)) list.push(value);
}
