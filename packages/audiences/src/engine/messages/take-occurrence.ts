import { type AggregateSpec, withOccurrence } from "../../conditions/aggregate.js";
import type { Occurrence } from "../../conditions/occurrence.js";
import type { Profile } from "../../profiles/profile.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";

/** Adds an event to an aggregate; returns whether the aggregate's state changed. */
export function takeOccurrence(
  unit: UnitOfWork,
  profile: Profile,
  number: number,
  spec: AggregateSpec,
  occurrence: Occurrence,
): boolean {
  const before = profile.aggregates.get(number);
  const after = withOccurrence(spec, before, occurrence, unit.nowMs);
  if (after === before || after === undefined) return false;
  profile.aggregates.set(number, after);
  unit.touch(profile);
  return true;
}
