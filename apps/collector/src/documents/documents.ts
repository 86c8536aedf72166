import type { IdentityPolicy } from "@sluice/audiences";
import type { FilterRuleView } from "@sluice/control-api";
import type { Offset } from "@sluice/event-log";
import type { Region } from "@sluice/protocol";

/** What the collector keeps as documents in the `ConfigStore`, by kind. Ids stand beside the document. */

export type SourceKind = "web" | "mobile" | "server";

/** Kind `source`. */
export interface SourceDocument {
  readonly name: string;
  readonly kind: SourceKind;
  readonly createdAt: string;
  readonly writeKeys: readonly { readonly key: string; readonly createdAt: string }[];
  /** Names of track events that go nowhere (stored, traced as filtered). */
  readonly blockedEvents: readonly string[];
  /** Messages a second that are taken; absent: no limit. */
  readonly rateLimit?: number;
  /** Which ids its messages may join; absent: as its kind says. */
  readonly identity?: IdentityPolicy;
  readonly region?: Region;
}

/**
 * A source's connection to a destination: it gets the messages after `since`, and once the source was disconnected
 * (`upTo`) still those that were queued by then.
 */
export interface Connection {
  readonly sourceId: string;
  readonly since: Offset;
  readonly upTo?: Offset;
}

/** A span of the log in which the destination was disabled: its messages are skipped. Open-ended while it is. */
export interface DisabledSpan {
  readonly after: Offset;
  readonly upTo?: Offset;
}

/** Kind `destination`. */
export interface DestinationDocument {
  /** Catalog type, such as `webhooks`. */
  readonly type: string;
  /** Its own name, one of the two that `integrations` may use. */
  readonly name: string;
  readonly enabled: boolean;
  readonly createdAt: string;
  readonly connections: readonly Connection[];
  readonly disabledSpans: readonly DisabledSpan[];
  readonly filters: readonly FilterRuleView[];
  /** The type's settings, as its `parseSettings` returned them; secrets are sealed by the type. */
  readonly settings: unknown;
}

/**
 * Kind `catch_up`: a source was connected to a destination after `since`, and it is not certain yet that the destination's cursor
 * has not passed messages of it that it knew nothing of.
 */
export interface CatchUpDocument {
  readonly destinationId: string;
  readonly sourceId: string;
  readonly since: Offset;
}
