/**
 * The shapes of the control API (`/api/v1`), as the collector answers them and the dashboard and the command line
 * read them. Times are ISO 8601 in UTC with milliseconds; durations are milliseconds and say so in their names.
 * Where a request's shape is not listed here, it is the resource's own fields.
 */
import type { Comparison } from "./conditions.js";
import type { Region } from "./regions.js";

/** A page of a list. */
export interface ListAnswer<T> {
  readonly items: readonly T[];
  /** Hand it back as `cursor` for the next page; absent on the last one. */
  readonly nextCursor?: string;
}

// ── Sources ──────────────────────────────────────────────────────────────────────────────────────────────

export type SourceKindView = "web" | "mobile" | "server";

/**
 * Which ids messages of a source may join: `full` any, by alias one user to another too; `anonymous` identify and alias join an
 * anonymous id that is nobody's yet to a user; `none` none.
 */
export type SourceIdentityView = "full" | "anonymous" | "none";

export interface WriteKeyView {
  readonly key: string;
  readonly createdAt: string;
  /** `key` is only its beginning: the token may only read. Default: false. */
  readonly isMasked?: boolean;
}

export interface SourceView {
  readonly id: string;
  readonly name: string;
  readonly kind: SourceKindView;
  readonly createdAt: string;
  /** All of them are valid; the newest is the last. */
  readonly writeKeys: readonly WriteKeyView[];
  /** Names of track events that go to no destination. */
  readonly blockedEvents: readonly string[];
  /** Messages a second that are taken; absent: no limit. */
  readonly rateLimit?: number;
  readonly identity: SourceIdentityView;
  /** Absent where no region is configured, and where it was made so. */
  readonly region?: Region;
  /** Grows by one with each change; `If-Match` compares it. */
  readonly version: number;
}

export interface SourceInput {
  readonly name: string;
  /** Default: `server`. */
  readonly kind?: SourceKindView;
  readonly blockedEvents?: readonly string[];
  readonly rateLimit?: number;
  /** Default: `full` for a server source, `anonymous` for web and mobile: their write keys are public. */
  readonly identity?: SourceIdentityView;
}

export interface SourcePatch {
  readonly name?: string;
  readonly blockedEvents?: readonly string[];
  /** null: no limit. */
  readonly rateLimit?: number | null;
  /** null: the kind's default. */
  readonly identity?: SourceIdentityView | null;
  /** The version that is to be changed; 409 when it is another by now. */
  readonly version?: number;
}

export interface UsageView {
  readonly days: readonly {
    /** `2026-11-21`, UTC. */
    readonly day: string;
    readonly accepted: number;
    readonly filtered: number;
    readonly delivered: number;
  }[];
}

// ── Catalog and destinations ─────────────────────────────────────────────────────────────────────────────

export interface CatalogEntryView {
  /** What `POST /destinations` takes as `type`. */
  readonly type: string;
  /** The published name: the one `integrations` uses. */
  readonly name: string;
  readonly mode: "cloud";
  readonly sources: readonly SourceKindView[];
  /** Whether it takes messages of the past. */
  readonly historical: boolean;
  /** JSON Schema of `settings`. */
  readonly settingsSchema: object;
}

/** One rule of a destination's filter; all conditions present must hold, and the first rule that matches acts. */
export interface FilterRuleView {
  readonly kinds?: readonly string[];
  readonly events?: readonly string[];
  readonly where?: readonly {
    /** Dotted path into the message, such as `properties.plan`. */
    readonly path: string;
    readonly is: Comparison;
    readonly value?: unknown;
  }[];
  readonly action:
    | { readonly kind: "drop" }
    /** Keeps this share of the messages, 0 to 1, chosen by message id: the same message always ends alike. */
    | { readonly kind: "sample"; readonly share: number }
    /** Dotted paths that are taken out of what is sent; the rules after it are still asked. */
    | { readonly kind: "remove"; readonly paths: readonly string[] };
}

export interface DestinationView {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly createdAt: string;
  readonly sourceIds: readonly string[];
  readonly filters: readonly FilterRuleView[];
  /** Secrets are not in it: only that one is set. */
  readonly settings: { readonly [name: string]: unknown };
  readonly version: number;
}

export interface DestinationInput {
  readonly type: string;
  /** Default: the catalog's name. */
  readonly name?: string;
  /** Default: none. */
  readonly sourceIds?: readonly string[];
  readonly settings?: { readonly [name: string]: unknown };
  /** Default: true. */
  readonly enabled?: boolean;
  readonly filters?: readonly FilterRuleView[];
}

export interface DestinationPatch {
  readonly name?: string;
  readonly sourceIds?: readonly string[];
  /** Merged by key; null takes a key out. */
  readonly settings?: { readonly [name: string]: unknown };
  readonly enabled?: boolean;
  readonly filters?: readonly FilterRuleView[];
  readonly version?: number;
}

/**
 * How a destination does, in one word for people and alerts; the first of these that holds.
 * - `disabled`: by a person. `url_disabled`: every URL answered 410 Gone, and none is called before the webhooks are saved.
 * - `backing_off`: it takes nothing and is probed. `failing`: what was tried last was not delivered, or it cannot be opened.
 * - `partly_disabled`: some URLs answered 410 Gone and are not called; the others take what is sent.
 * - `good`: what was tried last was delivered. `idle`: nothing was tried yet, as far as is stored.
 */
export type DestinationHealthView =
  | "good"
  | "failing"
  | "idle"
  | "url_disabled"
  | "partly_disabled"
  | "disabled"
  | "backing_off";

/** How a destination does now. */
export interface DestinationStatusView {
  readonly destinationId: string;
  /** What its queue does; whether anything arrives is told by `health`. */
  readonly state: "delivering" | "disabled" | "backing_off";
  readonly health: DestinationHealthView;
  /** When the first message was not delivered since the last that was; after a restart as far as the newest deliveries tell. */
  readonly failingSince?: string;
  /** URLs that answered 410 Gone. */
  readonly disabledUrls?: readonly string[];
  /**
   * Messages of the log it has not come to yet, and those it tries for the first time; 0 once all that was received is routed. While it
   * is disabled or backs off it reads nothing: messages of sources that it is not connected to are among them then.
   */
  readonly behind: number;
  /** Messages that failed and wait for their next attempt. */
  readonly retries: number;
  /** What waits here now: `retries`, and `behind` but for a disabled destination, which skips them. */
  readonly waiting: number;
  /** When a destination that fails is probed next. */
  readonly nextAttemptAt?: string;
  /** What was tried last ended with this, in a sentence; absent where it was delivered. */
  readonly lastError?: string;
}

/** What a test send ended in. */
export interface TestSendView {
  readonly messageId: string;
  readonly state: DeliveryStateView;
  readonly reason: string;
  readonly attempts: readonly AttemptView[];
}

// ── Messages, outcomes, attempts ─────────────────────────────────────────────────────────────────────────

export type DeliveryStateView = "delivered" | "pending" | "failed" | "filtered" | "skipped" | "suppressed";

/** The ways in which a delivery can have ended. */
export type FinalStateView = Exclude<DeliveryStateView, "pending">;

export interface AttemptView {
  /** The round, from 1. */
  readonly attempt: number;
  readonly at: string;
  readonly url: string;
  /** The address that was really connected to. */
  readonly address?: string;
  readonly status?: number;
  readonly error?: { readonly code: string; readonly message: string };
  readonly latencyMs: number;
  readonly requestHeaders?: { readonly [name: string]: string };
  /** The first 4 KB of the answer. */
  readonly response?: string;
  readonly replay?: boolean;
}

export interface OutcomeSummary {
  /** The delivery's id, for `/deliveries/:id`. */
  readonly id: string;
  readonly destinationId: string;
  readonly state: DeliveryStateView;
  readonly reason: string;
  readonly at?: string;
  readonly nextAttemptAt?: string;
}

export interface OutcomeView extends OutcomeSummary {
  readonly attempts: readonly AttemptView[];
}

/** A stored message as lists show it. */
export interface MessageSummary {
  readonly messageId: string;
  readonly sourceId: string;
  readonly receivedAt: string;
  readonly message: { readonly [field: string]: unknown };
  readonly outcomes: readonly OutcomeSummary[];
}

/** A stored message with all that became of it. */
export interface StoredMessageView {
  readonly messageId: string;
  readonly sourceId: string;
  readonly receivedAt: string;
  readonly state: "accepted";
  readonly message: { readonly [field: string]: unknown };
  /** What is odd about it and was made up for, such as a timestamp that is none. Absent: nothing. */
  readonly issues?: readonly { readonly code: string; readonly path: string; readonly message: string }[];
  readonly outcomes: readonly OutcomeView[];
}

/** A refused message: it is in no log, only here, for a while. */
export interface RejectedMessageView {
  readonly messageId?: string;
  readonly sourceId: string;
  readonly receivedAt: string;
  readonly state: "rejected";
  /** Absent for a request that was refused whole, and where the message names none. */
  readonly type?: string;
  readonly issues: readonly { readonly code: string; readonly path: string; readonly message: string }[];
  /** Its JSON, cut at 4 KB. */
  readonly excerpt: string;
}

export type MessageView = StoredMessageView | RejectedMessageView;

// ── Deliveries and replays ───────────────────────────────────────────────────────────────────────────────

export interface DeliveryView {
  readonly id: string;
  readonly messageId: string;
  /** Of which source the message is: two may have sent the same id. */
  readonly sourceId: string;
  readonly destinationId: string;
  readonly state: DeliveryStateView;
  readonly reason: string;
  readonly at: string;
  /** Rounds of attempts made. */
  readonly attempts: number;
  readonly nextAttemptAt?: string;
}

export interface DeliveryDetailView extends Omit<DeliveryView, "attempts"> {
  readonly attempts: readonly AttemptView[];
}

export interface ReplayFilter {
  readonly destinationId: string;
  readonly messageId?: string;
  readonly type?: string;
  readonly event?: string;
  readonly userId?: string;
  /** Only messages that ended so there: pending ones are on their way, and are tried at once by a retry. */
  readonly state?: FinalStateView;
  readonly from?: string;
  readonly to?: string;
}

export interface ReplayInput {
  readonly filter: ReplayFilter;
  /** Count only. Default: false. */
  readonly dryRun?: boolean;
}

export interface ReplayView {
  /** Absent on a dry run. */
  readonly id?: string;
  /** Messages that are (or would be) sent again. */
  readonly count: number;
}

// ── Tokens, audit, the collector itself ──────────────────────────────────────────────────────────────────

export type TokenAccess = "full" | "read";

export interface TokenView {
  readonly id: string;
  readonly name: string;
  readonly access: TokenAccess;
  readonly createdAt: string;
}

export interface CreatedTokenView extends TokenView {
  /** Shown this once: only its hash is kept. */
  readonly token: string;
}

export interface AuditEntryView {
  readonly id: string;
  readonly at: string;
  /** Whose token it was. */
  readonly tokenId: string;
  readonly tokenName: string;
  /** Such as `destinations.patch`. */
  readonly action: string;
  /** What was changed. */
  readonly target?: string;
  /** The request's body, secrets replaced. */
  readonly change?: unknown;
}

export interface CollectorInfo {
  readonly version: string;
  readonly mode: "dev" | "production";
  /** Absent where no region is configured. */
  readonly region?: Region;
  readonly node: string;
  readonly startedAt: string;
  /** The collector's clock when it answered: doctor compares it with its own. */
  readonly now: string;
  readonly storage:
    | { readonly kind: "ready" }
    | { readonly kind: "unavailable"; readonly reason: string; readonly since: string };
  /** The token that asked. */
  readonly token: TokenView;
}

export const RATE_SPAN_NAMES = ["5m", "1h", "24h"] as const;
export type RateSpan = (typeof RATE_SPAN_NAMES)[number];

/** What happened in one stretch of time: counts, not rates. */
export interface RatePointView {
  /** Its end. */
  readonly at: string;
  /** How long it is. */
  readonly overMs: number;
  readonly accepted: number;
  readonly rejected: number;
  /** Once for each destination. */
  readonly delivered: number;
  /** Given up. */
  readonly failed: number;
  /** Rounds that failed and are repeated. */
  readonly retried: number;
  /** From receipt to delivery; absent when nothing was delivered in it. */
  readonly latencyP50Ms?: number;
  readonly latencyP99Ms?: number;
}

/** Answer of `GET /rates?span=`. */
export interface RatesView {
  /** The time between two points. */
  readonly everyMs: number;
  /** Oldest first; of the time in which the collector did not run there are none. */
  readonly points: readonly RatePointView[];
}

// ── The live stream ──────────────────────────────────────────────────────────────────────────────────────

/** What `GET /live` sends: the event's name is `kind`, its data this. */
export type LiveEventView =
  | ({ readonly kind: "message" } & Omit<MessageSummary, "outcomes">)
  | {
      readonly kind: "outcome";
      readonly messageId: string;
      readonly destinationId: string;
      readonly state: DeliveryStateView;
      readonly reason: string;
      readonly at: string;
      readonly nextAttemptAt?: string;
    }
  | ({ readonly kind: "rejected" } & Omit<RejectedMessageView, "state">)
  /** This reader was too slow (or asked for more than is kept): so many events were not sent to it. */
  | {
      readonly kind: "dropped";
      readonly messages: number;
      readonly outcomes: number;
      /** They were not counted to their end: at least so many. Absent: exactly. */
      readonly isMinimum?: boolean;
    };

// Shapes of audiences, computed traits, profiles and deletions stand in files of their own beside this one.
