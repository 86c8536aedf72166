import type { SyncSchedule } from "@sluice/control-api";
import type { ComputedTraitKind, Condition } from "@sluice/protocol";

/** The document of kind `audience`. */
export interface AudienceDocument {
  readonly name: string;
  /** The snake_case form of its first name. It never changes, because receivers know the audience by it. */
  readonly key: string;
  readonly condition: Condition;
  readonly destinationIds: readonly string[];
  readonly sync: Required<SyncSchedule>;
  readonly trackEvents: boolean;
  readonly enabled: boolean;
  readonly paused: boolean;
  readonly createdAt: string;
}

/** The document of kind `computed_trait`. */
export interface ComputedTraitDocument {
  readonly name: string;
  readonly key: string;
  readonly kind: ComputedTraitKind;
  readonly event: string;
  readonly property?: string;
  readonly withinMs?: number;
  readonly destinationIds: readonly string[];
  readonly enabled: boolean;
  readonly createdAt: string;
}

export const AUDIENCE = "audience";
export const COMPUTED_TRAIT = "computed_trait";

/** What is evaluated for every profile: an audience's membership or a computed trait's value. */
export type Definition =
  | { readonly id: string; readonly kind: typeof AUDIENCE; readonly document: AudienceDocument }
  | { readonly id: string; readonly kind: typeof COMPUTED_TRAIT; readonly document: ComputedTraitDocument };
