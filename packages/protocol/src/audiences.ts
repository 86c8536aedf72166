import type { Comparison, ComparisonValue, Condition, Times } from "./conditions.js";

/** Slower sending than at once. Evaluation is in real time all the same. */
export interface SyncSchedule {
  /** From the creation to the first sending, in milliseconds. Default: 0. */
  readonly initialDelayMs?: number;
  /** Between two sendings, in milliseconds; each sends what has changed since the last. Default: 0, every change at once. */
  readonly everyMs?: number;
}

/** Body of `POST /api/v1/audiences`. */
export interface AudienceInput {
  readonly name: string;
  readonly condition: Condition;
  /** Default: none; members are counted and listed, nothing is sent. */
  readonly destinationIds?: readonly string[];
  readonly sync?: SyncSchedule;
  /** Also sends track `Audience Entered` and `Audience Exited`. Default: false. */
  readonly trackEvents?: boolean;
  /** Default: true. */
  readonly enabled?: boolean;
}

/** Body of `PATCH /api/v1/audiences/:id`: what is absent stays. The key never changes. */
export interface AudiencePatch extends Partial<AudienceInput> {
  /** Holds the sync and everything that would be sent; false goes on with it. */
  readonly paused?: boolean;
  readonly version?: number;
}

/** How far an audience or computed trait is with what it owes: reading history, evaluating everybody, or up to date. */
export interface SyncView {
  readonly state: "reading_history" | "evaluating" | "live" | "paused" | "disabled" | "scheduled";
  /** 0 to 1 of the step that is under way; 1 when live. */
  readonly progress: number;
  /** Profiles evaluated so far in the step under way. */
  readonly evaluated: number;
  readonly startedAt: string;
  readonly finishedAt?: string;
  /** When the next sending is due, where there is a schedule. */
  readonly nextSyncAt?: string;
  /** Messages of the log that are not evaluated yet: what they change comes later. */
  readonly behind?: number;
  /**
   * Of a computed trait: users in whose value something is left out because a limit was reached, and how many of their events.
   * Absent: nothing is.
   */
  readonly leftOut?: { readonly users: number; readonly events: number };
}

export interface AudienceView {
  readonly id: string;
  readonly name: string;
  /** The trait that is true for members. */
  readonly key: string;
  readonly condition: Condition;
  readonly destinationIds: readonly string[];
  readonly sync: SyncSchedule;
  readonly trackEvents: boolean;
  readonly enabled: boolean;
  readonly paused: boolean;
  readonly createdAt: string;
  /** Members now. */
  readonly size: number;
  readonly status: SyncView;
  readonly version: number;
}

/** A member of an audience, or a user of a preview's sample. */
export interface MemberView {
  /** Absent while the user is anonymous. */
  readonly userId?: string;
  readonly anonymousId?: string;
  readonly since?: string;
}

/** Answer of `POST /api/v1/audiences/preview`. */
export interface AudiencePreview {
  /** Who would be in now. */
  readonly size: number;
  /** Profiles that were looked at. */
  readonly evaluated: number;
  /** The first ten of them, by id. */
  readonly sample: readonly MemberView[];
  readonly tookMs: number;
}

/** Why a user is in or out: the condition tree with what was seen at each node. */
export type Explanation =
  | {
      readonly kind: "and" | "or";
      readonly holds: boolean;
      readonly conditions: readonly Explanation[];
    }
  | { readonly kind: "not"; readonly holds: boolean; readonly condition: Explanation }
  | {
      readonly kind: "trait";
      readonly holds: boolean;
      readonly trait: string;
      readonly is: Comparison;
      readonly value?: ComparisonValue;
      /** The user's value; absent where there is none. */
      readonly seen?: unknown;
    }
  | {
      readonly kind: "event";
      readonly holds: boolean;
      readonly event: string;
      readonly times: Times;
      readonly withinMs?: number;
      /** How often it was done; with `orMore`, as far as it was counted. */
      readonly seen: number;
      readonly orMore?: boolean;
      readonly lastAt?: string;
      /** When the count falls next because an event leaves the window. */
      readonly changesAt?: string;
    }
  | { readonly kind: "audience"; readonly holds: boolean; readonly audienceId: string };

/** Answer of `GET /api/v1/audiences/:id/why?userId=`. */
export interface WhyView {
  readonly userId: string;
  readonly member: boolean;
  readonly since?: string;
  readonly explanation: Explanation;
}

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

/** Body of `POST /api/v1/computed-traits`. */
export interface ComputedTraitInput {
  readonly name: string;
  readonly kind: ComputedTraitKind;
  readonly event: string;
  /** The property that is summed, listed, …; every kind but count needs one. */
  readonly property?: string;
  /** Only events of the last so many milliseconds. Default: ever. */
  readonly withinMs?: number;
  readonly destinationIds?: readonly string[];
  /** Default: true. */
  readonly enabled?: boolean;
}

export interface ComputedTraitPatch extends Partial<Omit<ComputedTraitInput, "property" | "withinMs">> {
  /** null takes it out. */
  readonly property?: string | null;
  /** null: ever. */
  readonly withinMs?: number | null;
  readonly version?: number;
}

export interface ComputedTraitView {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly kind: ComputedTraitKind;
  readonly event: string;
  readonly property?: string;
  readonly withinMs?: number;
  readonly destinationIds: readonly string[];
  readonly enabled: boolean;
  readonly createdAt: string;
  readonly status: SyncView;
  readonly version: number;
}

/** What a computed trait is made of: the body of `POST /api/v1/computed-traits/preview`. */
export type ComputedTraitDefinition = Pick<ComputedTraitInput, "kind" | "event" | "property" | "withinMs">;

/** A user with a value of a computed trait. */
export interface UserValueView {
  /** Absent while the user is anonymous. */
  readonly userId?: string;
  readonly anonymousId?: string;
  readonly value: unknown;
}

/** Answer of `GET /api/v1/computed-traits/:id/why?userId=`: how a user's value came about. */
export interface ValueWhyView {
  readonly userId: string;
  /** Absent where the user has none. */
  readonly value?: unknown;
  /** Events that it is made of. */
  readonly events: number;
  /** Events of which nothing is in it, because a limit was reached. Absent: none. */
  readonly leftOut?: number;
  /** Of a trait with a window: only events after it count now. */
  readonly windowFrom?: string;
  /** When it changes next because an event leaves the window. */
  readonly changesAt?: string;
  /**
   * What it is made of, newest first, twenty at most. Of a list and of the most frequent value the values, the latter by how often they
   * came; each with the event that it was first seen in.
   */
  readonly madeOf: readonly ValuePart[];
}

export interface ValuePart {
  /** When the event happened. */
  readonly at: string;
  /** What the value has of it: 1 for a count, else the property. */
  readonly value: unknown;
  /** How often this value came. */
  readonly times?: number;
  /** Absent when the message is not stored any more. */
  readonly messageId?: string;
  readonly sourceId?: string;
}

/** Answer of `POST /api/v1/computed-traits/preview`. */
export interface ComputedTraitPreview {
  /** Users who would have a value now. */
  readonly size: number;
  /** Profiles that were looked at. */
  readonly evaluated: number;
  /** The first ten of them, those first whom the collector has known longest. */
  readonly sample: readonly UserValueView[];
  readonly tookMs: number;
}

/** Messages that audiences do not count, because the engine failed over them again and again. */
export interface SetAsideView {
  /** Absent where the whole request cannot be read. */
  readonly messageId?: string;
  readonly sourceId: string;
  readonly receivedAt: string;
  /** 1, or the messages of a request that cannot be read. */
  readonly messages: number;
}

/** Answer of `GET /api/v1/audience-engine`. */
export interface AudienceEngineView {
  /** Messages of the log that are not counted yet. */
  readonly behind: number;
  /** Oldest first; the latest 1,000. */
  readonly setAside: readonly SetAsideView[];
}

/** Answer of `GET /api/v1/profiles/:userId`. */
export interface ProfileView {
  readonly userId?: string;
  readonly anonymousId?: string;
  readonly traits: { readonly [name: string]: unknown };
  readonly computedTraits: { readonly [key: string]: unknown };
  readonly audiences: readonly {
    readonly id: string;
    readonly key: string;
    readonly member: boolean;
    readonly since: string;
  }[];
  /** Ids that this profile answers to, its own included. */
  readonly identities: { readonly userIds: readonly string[]; readonly anonymousIds: readonly string[] };
  /** Values that came and were left out because the profile is full. Absent: none. */
  readonly leftOut?: { readonly traits: number; readonly ids: number };
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
}
