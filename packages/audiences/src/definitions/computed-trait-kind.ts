import type { ComputedTraitInput, ComputedTraitPatch } from "@sluice/control-api";
import { computedIssues } from "./definition-issues.js";
import { COMPUTED_TRAIT, type ComputedTraitDocument } from "./definitions.js";
import { type ManagedKind, withoutAbsent } from "./managed-kind.js";

export const COMPUTED_TRAITS: ManagedKind<ComputedTraitDocument, ComputedTraitInput, ComputedTraitPatch> = {
  kind: COMPUTED_TRAIT,
  documentOf: (input, { key, createdAt }) => ({
    name: input.name,
    key,
    kind: input.kind,
    event: input.event,
    ...(input.property === undefined ? {} : { property: input.property }),
    ...(input.withinMs === undefined ? {} : { withinMs: input.withinMs }),
    destinationIds: [...new Set(input.destinationIds)],
    enabled: input.enabled ?? true,
    createdAt,
  }),
  /** Null removes the property or the window. */
  patched(document, { version: _, property, withinMs, ...fields }) {
    const { property: oldProperty, withinMs: oldWithinMs, ...rest } = document;
    return {
      ...rest,
      ...withoutAbsent(fields),
      ...withoutAbsent({
        property: property === undefined ? oldProperty : property,
        withinMs: withinMs === undefined ? oldWithinMs : withinMs,
      }),
    };
  },
  issues: async (_store, _id, fields) => computedIssues(fields),
  dependents: async () => [],
};
