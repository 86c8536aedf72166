export const DELETION_STATUSES = ["initialized", "running", "finished", "failed"] as const;
export type DeletionStatus = (typeof DELETION_STATUSES)[number];

/** Body of `POST /api/v1/deletions`: 1 to 1,000 ids in all. */
export interface DeletionInput {
  /** Users, with the anonymous ids that are joined to them. */
  readonly userIds?: readonly string[];
  /**
   * Visitors who were never identified. Of an id that is joined to a user only the messages without a user id go; the user stays.
   */
  readonly anonymousIds?: readonly string[];
  /** Also refuses their later messages, until lifted. Default: false. */
  readonly suppress?: boolean;
  /** Also takes out other user ids that were joined to these by alias. Default: false, they are only listed. */
  readonly includeAliases?: boolean;
  /** Changes nothing and answers a `DeletionPlan`: what would go. Default: false. */
  readonly dryRun?: boolean;
}

/** What an id is. `any`: either, in what a version stored that did not tell them apart. */
export type IdKind = "user" | "anonymous" | "any";

/** What a deletion would take, as things stand now. */
export interface DeletionPlan {
  readonly dryRun: true;
  readonly suppress: boolean;
  readonly includeAliases: boolean;
  /** One an id of the request: its user ids, then its anonymous ids. */
  readonly users: readonly {
    readonly userId?: string;
    readonly anonymousId?: string;
    readonly messages: number;
    readonly messagesBySource: readonly { readonly sourceId: string; readonly messages: number }[];
    readonly attempts: number;
    /** Deliveries that wait for their next attempt. */
    readonly retries: number;
    readonly profile: boolean;
    readonly audienceMemberships: number;
    /** Anonymous ids that are joined to the user: they go too. An id among `aliases` is not listed again. */
    readonly anonymousIds: readonly string[];
    /** Other user ids of the same profile: they go only with `includeAliases`. */
    readonly aliases: readonly string[];
  }[];
}

/** What was removed, and where. */
export interface DeletionReceipt {
  /** One an id of the request, in its order; they are named by digest, since ids are data too. */
  readonly users: readonly {
    /** HMAC-SHA-256 of the id with its kind, lower-case hex; its key is derived from the collector's secret key. */
    readonly idHmac: string;
    readonly kind: IdKind;
    readonly messages: number;
    readonly attempts: number;
    readonly retries: number;
    readonly profile: boolean;
    readonly audienceMemberships: number;
    /** Anonymous ids that went with the user, without those that are user ids of its profile too. */
    readonly anonymousIds: number;
    /** Other user ids of the same profile that went with the user. Absent where none did. */
    readonly aliases?: number;
    /** Other user ids of the same profile that stayed. */
    readonly aliasesLeft: number;
  }[];
  /** The delete messages that went out, one for each affected source that has an enabled webhook destination. */
  readonly deleteMessages: readonly {
    readonly sourceId: string;
    readonly messageId: string;
    readonly destinationIds: readonly string[];
  }[];
  /** When nothing of them was readable through any call any more. */
  readonly purgedAt?: string;
  /** When the bytes themselves were gone from the data folder. */
  readonly erasedAt?: string;
  /** When the delete messages had been delivered or given up, and their own traces were erased. */
  readonly tracesErasedAt?: string;
}

export interface DeletionView {
  readonly id: string;
  readonly status: DeletionStatus;
  readonly createdAt: string;
  readonly suppress: boolean;
  readonly includeAliases: boolean;
  /** How many ids it is about. */
  readonly userCount: number;
  /**
   * Users with other user ids in the same profile, and these. Without `includeAliases` they stay. Absent where there are none, and
   * once everything is removed: only the receipt's counts are kept.
   */
  readonly aliases?: readonly { readonly userId: string; readonly aliases: readonly string[] }[];
  /** The step under way, or the last one. */
  readonly step: string;
  /** Why it failed; it is tried again at the next start or with the next try. */
  readonly error?: string;
  readonly receipt?: DeletionReceipt;
}

/** An id whose messages are refused. */
export interface SuppressionView {
  /** As in the receipt of a deletion. */
  readonly idHmac: string;
  readonly kind: IdKind;
  /** The id that was asked for, where this one is suppressed because it is joined to it. */
  readonly joinedTo?: string;
  readonly since: string;
}
