export const DELETION_STATUSES = ["initialized", "running", "finished", "failed"] as const;
export type DeletionStatus = (typeof DELETION_STATUSES)[number];

/** Body of `POST /api/v1/deletions`. */
export interface DeletionInput {
  /** 1 to 1,000 user ids (or anonymous ids of users who were never identified). */
  readonly userIds: readonly string[];
  /** Also refuses their later messages, until lifted. Default: false. */
  readonly suppress?: boolean;
}

/** What was removed, and where. */
export interface DeletionReceipt {
  /** One a user of the request, in its order; users are named by digest, since their ids are data too. */
  readonly users: readonly {
    /** SHA-256 of the user id, lower-case hex. */
    readonly userIdSha256: string;
    readonly messages: number;
    readonly attempts: number;
    readonly retries: number;
    readonly profile: boolean;
    readonly audienceMemberships: number;
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
  /** How many users it is about. */
  readonly userCount: number;
  /** The step under way, or the last one. */
  readonly step: string;
  /** Why it failed; it is tried again at the next start or with the next try. */
  readonly error?: string;
  readonly receipt?: DeletionReceipt;
}

/** A user whose messages are refused. */
export interface SuppressionView {
  readonly userIdSha256: string;
  readonly since: string;
}
