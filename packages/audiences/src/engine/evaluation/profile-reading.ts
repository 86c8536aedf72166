import { type EventCondition, lookUp } from "@sluice/protocol";
import { type CountSpec, type CountState, countOf } from "../../conditions/count.js";
import type { Reading } from "../../conditions/evaluate.js";
import type { DefinitionSet } from "../../definitions/definition-set.js";
import type { Profile } from "../../profiles/profile.js";

/** A profile as conditions see it. */
export function readingOf(profile: Profile, definitions: DefinitionSet, nowMs: number): Reading {
  return {
    trait: (name) => traitOf(profile, definitions, name),
    count: (condition) => countIn(profile, definitions, condition, nowMs),
    isMember: (audienceId) =>
      definitions.byId.has(audienceId) && (profile.memberships.get(audienceId)?.isIn ?? false),
  };
}

/** A computed trait's value, else the trait of that name, else the dotted path into one. */
function traitOf(profile: Profile, definitions: DefinitionSet, name: string): unknown {
  const computed = definitions.computedByKey.get(name);
  if (computed !== undefined) return profile.computed.get(computed.id)?.value;
  if (profile.traits.has(name)) return profile.traits.get(name);
  const dot = name.indexOf(".");
  return dot < 0 ? undefined : lookUp(profile.traits.get(name.slice(0, dot)), name.slice(dot + 1));
}

function countIn(
  profile: Profile,
  definitions: DefinitionSet,
  condition: EventCondition,
  nowMs: number,
): number {
  const number = definitions.specNumberOf.get(condition) ?? -1;
  const spec = definitions.specs.get(number) as CountSpec;
  return countOf(spec, profile.aggregates.get(number) as CountState | undefined, nowMs);
}
