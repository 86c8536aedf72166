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

/**
 * The trait that an audience or computed trait is sent as: the snake_case form of its name. Words and camelCase are
 * split, letters of any script and digits are kept, every run of other characters is one `_`, none at the ends.
 * Empty when the name has no letter and no digit.
 *
 * @example audienceKey("VIP Customers (30 days)") // "vip_customers_30_days"
 */
export function audienceKey(name: string): string {
  return name
    .normalize("NFC")
    .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, "_")
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "_")
    .replace(/^_+|_+$/g, "")
    .toLowerCase();
}

/** The comparisons of a trait or property with a value. */
export const COMPARISONS = ["equals", "not_equals", "exists", "contains", "less", "greater", "in"] as const;
export type Comparison = (typeof COMPARISONS)[number];

export type Scalar = string | number | boolean;

/** `exists` takes no value, or false for "does not exist"; `in` takes a list; all others a scalar. */
export type ComparisonValue = Scalar | readonly Scalar[];

/** How often an event must have happened. */
export type Times = { readonly atLeast: number } | { readonly atMost: number } | { readonly exactly: number };

export interface AllOf {
  readonly kind: "and";
  readonly conditions: readonly Condition[];
}
export interface AnyOf {
  readonly kind: "or";
  readonly conditions: readonly Condition[];
}
export interface Not {
  readonly kind: "not";
  readonly condition: Condition;
}
/** Compares a trait of the user. An absent trait equals nothing, so `not_equals` always holds for it. */
export interface TraitCondition {
  readonly kind: "trait";
  /** Name of the trait, or a dotted path into it (`address.city`). */
  readonly trait: string;
  readonly is: Comparison;
  readonly value?: ComparisonValue;
}
/** Compares a property of a track event. */
export interface PropertyTest {
  /** Name of the property, or a dotted path into it. */
  readonly property: string;
  readonly is: Comparison;
  readonly value?: ComparisonValue;
}
/** The user did the track event that many times within the last `withinMs` (default: ever), counting events for which all of `where` hold. */
export interface EventCondition {
  readonly kind: "event";
  readonly event: string;
  readonly times: Times;
  /** Milliseconds back from now: an event counts until exactly this long after its time. */
  readonly withinMs?: number;
  readonly where?: readonly PropertyTest[];
}
/** The user is a member of another audience. */
export interface AudienceCondition {
  readonly kind: "audience";
  readonly audienceId: string;
}

/** Who is in an audience: a tree, as it stands in JSON. */
export type Condition = AllOf | AnyOf | Not | TraitCondition | EventCondition | AudienceCondition;

/** Limits of a condition tree, so that the state per user and the work per message stay bounded. */
export const CONDITION_LIMITS = {
  /** Nesting of and, or and not. */
  depth: 20,
  /** Nodes of a tree, property tests included. */
  nodes: 200,
  /** `times`, because the collector stores that many times per user and event. */
  times: 10_000,
  /** Values of `in`. */
  values: 1_000,
  /** Characters of a name or a text value. */
  textLength: 1_000,
  /** `withinMs`: ten years. */
  withinMs: 10 * 365 * 24 * 60 * 60 * 1_000,
} as const;
