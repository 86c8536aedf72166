import { compare, lookUp } from "../../../../packages/protocol/src/conditions/compare.js";
import type { Condition } from "../../../../packages/protocol/src/conditions/conditions.js";

/** A condition over traits alone: it visits every node and compares every value. */
export function conditionHolds(condition: Condition, traits: unknown): boolean {
  switch (condition.kind) {
    case "and":
      return condition.conditions.every((one) => conditionHolds(one, traits));
    case "or":
      return condition.conditions.some((one) => conditionHolds(one, traits));
    case "not":
      return !conditionHolds(condition.condition, traits);
    case "trait":
      return compare(lookUp(traits, condition.trait), condition.is, condition.value);
    case "event":
      return (condition.where ?? []).every(({ property, is, value }) =>
        compare(lookUp(traits, property), is, value),
      );
    case "audience":
      return false;
    default:
      return condition satisfies never;
  }
}
