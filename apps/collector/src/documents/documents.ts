import type { IdentityPolicy } from "@sluice/audiences";
import type { FilterRuleView } from "@sluice/control-api";
import type { Offset } from "@sluice/event-log";
import type { Plan, Region } from "@sluice/protocol";

/** Documents that the collector stores in the `ConfigStore`, by kind. A document does not contain its own id. */

export type SourceKind = "web" | "mobile" | "server";

/** Kind `source`. */
export interface SourceDocument {
  readonly name: string;
  readonly kind: SourceKind;
  readonly createdAt: string;
  readonly writeKeys: readonly { readonly key: string; readonly createdAt: string }[];
  /** Names of track events that are stored but not delivered. The trace shows them as filtered. */
  readonly blockedEvents: readonly string[];
  /** Maximum number of messages accepted per second. Default: no limit. */
  readonly rateLimit?: number;
  /** Which ids its messages may join. Default: depends on `kind`. */
  readonly identity?: IdentityPolicy;
  readonly region?: Region;
  /** Its messages pass it on their way to each destination. */
  readonly transformationId?: string;
}

/** Kind `source_plan`; its id is the source's. */
export interface SourcePlanDocument {
  /** `report`: messages that violate the plan are stored and counted. `refuse`: they are refused. */
  readonly mode: "report" | "refuse";
  /** The plan's JSON as it was given. */
  readonly plan: { readonly [field: string]: unknown };
  readonly updatedAt: string;
}

/**
 * Connects a source to a destination. The destination gets the source's messages after `since`. If the source was
 * disconnected, `upTo` is the last message, so that messages queued before that are still delivered.
 */
export interface Connection {
  readonly sourceId: string;
  readonly since: Offset;
  readonly upTo?: Offset;
}

/** A range of the log in which the destination was disabled. Its messages are skipped. No `upTo`: still disabled. */
export interface DisabledSpan {
  readonly after: Offset;
  readonly upTo?: Offset;
}

/** Kind `destination`. */
export interface DestinationDocument {
  /** Catalog type, such as `webhooks`. */
  readonly type: string;
  /** The destination's name. `integrations` can use this name or the type's name. */
  readonly name: string;
  readonly enabled: boolean;
  readonly createdAt: string;
  readonly connections: readonly Connection[];
  readonly disabledSpans: readonly DisabledSpan[];
  readonly filters: readonly FilterRuleView[];
  /** How long a failed message is retried, from its first attempt, in milliseconds. Default: 14_400_000 (4 h). */
  readonly retryForMs?: number;
  /** How long it may fail before that is an incident, in milliseconds. Default: 900_000 (15 min). */
  readonly notifyAfterMs?: number;
  /** Its messages pass it after the filters. */
  readonly transformationId?: string;
  /** Settings as returned by the type's `parseSettings`, with secrets sealed. */
  readonly settings: unknown;
  /** When settings, filters or transformation were last changed. Absent: not since it was created. */
  readonly settingsChangedAt?: string;
}

/** Kind `transformation`; its id is `tr_…`. */
export interface TransformationDocument {
  readonly name: string;
  readonly createdAt: string;
  readonly changedAt: string;
  /** The version in force, from 1. */
  readonly current: number;
  readonly newest: number;
  /** Sealed values, by name. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Grows when a secret changes, so that what was opened with the old ones is not used. */
  readonly secretsRevision: number;
}

/** Kind `transformation_version`; its id is `versionId` of both. Never changed. */
export interface TransformationVersionDocument {
  readonly code: string;
  readonly language: "typescript" | "javascript";
  readonly createdAt: string;
  /** The name of the token that saved it. */
  readonly createdBy?: string;
}

/** The id of a version's document: `tr_4kZ@3`. */
export function versionId(transformationId: string, version: number): string {
  return `${transformationId}@${version}`;
}

/**
 * Kind `catch_up`: a source was connected to a destination after `since`. The destination's cursor may already have passed
 * messages of the source. The document is deleted once such messages are in the retry queue.
 */
export interface CatchUpDocument {
  readonly destinationId: string;
  readonly sourceId: string;
  readonly since: Offset;
}

/** The tracking plan of a source, ready to check messages against. */
export interface SourcePlan {
  readonly mode: SourcePlanDocument["mode"];
  readonly plan: Plan;
}

/** The tracking plan of a source; undefined if it has none. */
export type PlanOf = (sourceId: string) => SourcePlan | undefined;
