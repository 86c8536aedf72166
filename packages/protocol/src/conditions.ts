/** What a trait or a property can be asked. */
export const COMPARISONS = ["equals", "not_equals", "exists", "contains", "less", "greater", "in"] as const;
export type Comparison = (typeof COMPARISONS)[number];

export type Scalar = string | number | boolean;

/** `exists` takes no value, or false for "does not exist"; `in` takes a list; all others a scalar. */
export type ComparisonValue = Scalar | readonly Scalar[];

/** How often: at least, at most or exactly so many times. */
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
/** The user's trait compares so. A trait that is absent equals nothing, so it is `not_equals` to everything. */
export interface TraitCondition {
  readonly kind: "trait";
  /** Name of the trait, or a dotted path into it (`address.city`). */
  readonly trait: string;
  readonly is: Comparison;
  readonly value?: ComparisonValue;
}
/** A property of a track event compares so. */
export interface PropertyTest {
  /** Name of the property, or a dotted path into it. */
  readonly property: string;
  readonly is: Comparison;
  readonly value?: ComparisonValue;
}
/** The user did the track event so many times, within the last `withinMs` (default: ever), where all of `where` hold. */
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

/** Bounds of a condition tree, so that what is kept of a user and the work a message causes stay bounded. */
export const CONDITION_LIMITS = {
  /** Nesting of and, or and not. */
  depth: 20,
  /** Nodes of a tree, property tests included. */
  nodes: 200,
  /** `times`: so many times of an event are kept a user at most. */
  times: 10_000,
  /** Values of `in`. */
  values: 1_000,
  /** Characters of a name or a text value. */
  textLength: 1_000,
  /** `withinMs`: ten years. */
  withinMs: 10 * 365 * 24 * 60 * 60 * 1_000,
} as const;
