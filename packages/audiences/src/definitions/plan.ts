import type { EventCondition } from "@sluice/protocol";
import type { Aspect } from "../conditions/aspect.js";
import { audiencesNamed, eventConditions, holds, type Reading, traitsNamed } from "../conditions/evaluate.js";
import { AUDIENCE, COMPUTED_TRAIT, type Definition } from "./definitions.js";

export interface NumberedAspect {
  readonly number: number;
  readonly aspect: Aspect;
}

type Of<Kind extends Definition["kind"]> = Extract<Definition, { readonly kind: Kind }>;
export type Audience = Of<typeof AUDIENCE>;
export type ComputedTrait = Of<typeof COMPUTED_TRAIT>;

/**
 * Definitions arranged by what can change them, so that a message costs what the audiences cost that mention its event or
 * its traits, however many others there are. Made anew whenever a definition changes.
 */
export interface Plan {
  readonly definitions: ReadonlyMap<string, Definition>;
  /** Audiences in an order in which each comes after those that its condition names. */
  readonly audiences: readonly Audience[];
  readonly computedTraits: readonly ComputedTrait[];
  readonly computedByKey: ReadonlyMap<string, ComputedTrait>;
  readonly aspects: ReadonlyMap<number, Aspect>;
  readonly aspectOf: ReadonlyMap<EventCondition | ComputedTrait["document"], number>;
  readonly aspectsByEvent: ReadonlyMap<string, readonly NumberedAspect[]>;
  readonly audiencesByAspect: ReadonlyMap<number, readonly Audience[]>;
  readonly computedByAspect: ReadonlyMap<number, readonly ComputedTrait[]>;
  /** By the name of a trait, or the first part of a dotted one. */
  readonly audiencesByTrait: ReadonlyMap<string, readonly Audience[]>;
  /** Audiences whose condition names this one. */
  readonly dependents: ReadonlyMap<string, readonly Audience[]>;
  /**
   * Audiences to be evaluated for a new profile whatever its first message is: those of which a user is a member of whom
   * nothing is known, and those that name others, since not being in another one is no change that would be noticed.
   */
  readonly ofNewProfiles: readonly Audience[];
  /** Place in `audiences`. */
  readonly rank: ReadonlyMap<string, number>;
}

const NOTHING_KNOWN: Reading = { trait: () => undefined, count: () => 0, isMember: () => false };

/** `aspectOf` names the aspect of every event condition and computed trait of the definitions. */
export function makePlan(
  definitions: readonly Definition[],
  aspectOf: Plan["aspectOf"],
  aspects: Plan["aspects"],
): Plan {
  const audiences = inOrder(definitions.filter((definition) => definition.kind === AUDIENCE));
  const computedTraits = definitions.filter((definition) => definition.kind === COMPUTED_TRAIT);
  const audiencesByAspect = new Map<number, Audience[]>();
  const audiencesByTrait = new Map<string, Audience[]>();
  const dependents = new Map<string, Audience[]>();
  for (const audience of audiences) {
    const { condition } = audience.document;
    for (const event of eventConditions(condition))
      enlist(audiencesByAspect, aspectOf.get(event) ?? -1, audience);
    for (const trait of traitsNamed(condition)) {
      enlist(audiencesByTrait, trait, audience);
      enlist(audiencesByTrait, trait.split(".", 1)[0] ?? trait, audience);
    }
    for (const named of audiencesNamed(condition)) enlist(dependents, named, audience);
  }
  const computedByAspect = new Map<number, ComputedTrait[]>();
  for (const computed of computedTraits)
    enlist(computedByAspect, aspectOf.get(computed.document) ?? -1, computed);
  const aspectsByEvent = new Map<string, NumberedAspect[]>();
  for (const [number, aspect] of aspects) {
    const ofEvent = aspectsByEvent.get(aspect.event);
    if (ofEvent === undefined) aspectsByEvent.set(aspect.event, [{ number, aspect }]);
    else ofEvent.push({ number, aspect });
  }
  return {
    definitions: new Map(definitions.map((definition) => [definition.id, definition])),
    audiences,
    computedTraits,
    computedByKey: new Map(computedTraits.map((computed) => [computed.document.key, computed])),
    aspects,
    aspectOf,
    aspectsByEvent,
    audiencesByAspect,
    computedByAspect,
    audiencesByTrait,
    dependents,
    ofNewProfiles: audiences.filter(
      ({ document: { condition } }) =>
        holds(condition, NOTHING_KNOWN) || audiencesNamed(condition).length > 0,
    ),
    rank: new Map(audiences.map((audience, rank) => [audience.id, rank])),
  };
}

/** The ids of audiences that would depend on themselves if `id` had a condition that names `named`; empty when none. */
export function circle(
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

function enlist<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else if (!list.includes(value)) list.push(value);
}
