/** The ways in which a computed trait can be computed from events. */
export const COMPUTED_TRAIT_KINDS = [
  "count",
  "sum",
  "average",
  "min",
  "max",
  "most_frequent",
  "first",
  "last",
  "unique_list",
] as const;
export type ComputedTraitKind = (typeof COMPUTED_TRAIT_KINDS)[number];
