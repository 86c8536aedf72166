import { nextChangeMs } from "../../conditions/aggregate.js";
import type { DefinitionSet } from "../../definitions/definition-set.js";
import type { Profile } from "../../profiles/profile.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import { type Evaluated, updateProfile } from "./update-profile.js";

/**
 * Stores when the profile has to be evaluated again. A time that is too early costs one evaluation, so it is only replaced by a later one
 * when it has come (`isDue`).
 */
export function setDue(unit: UnitOfWork, definitions: DefinitionSet, profile: Profile, isDue: boolean): void {
  let dueMs: number | undefined;
  for (const [number, state] of profile.aggregates) {
    const spec = definitions.specs.get(number);
    if (spec === undefined) {
      // No definition needs it any more.
      profile.aggregates.delete(number);
      continue;
    }
    const changeMs = nextChangeMs(spec, state, unit.nowMs);
    if (changeMs !== undefined && (dueMs === undefined || changeMs < dueMs)) dueMs = changeMs;
  }
  const isEarlier = dueMs !== undefined && (profile.dueMs === undefined || dueMs < profile.dueMs);
  if (!isEarlier && !isDue) return;
  profile.dueMs = dueMs;
  unit.touch(profile);
}

/** Events have left windows: evaluates everything that depends on them. */
export function updateDue(unit: UnitOfWork, loaded: Evaluated, profile: Profile): void {
  const { definitions } = loaded;
  const windowed = [...profile.aggregates.keys()].filter(
    (number) => definitions.specs.get(number)?.withinMs !== undefined,
  );
  updateProfile(unit, loaded, profile, { aggregates: windowed, traits: [] });
  setDue(unit, definitions, profile, true);
}
