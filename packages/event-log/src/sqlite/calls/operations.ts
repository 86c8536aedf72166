import type { Identity } from "../../message/identity.js";
import type { Offset } from "../../message/offset.js";
import type {
  Attempt,
  ConsumerState,
  Delivery,
  DeliveryQuery,
  DeliveryTally,
  Lane,
  Retry,
  ScannedDelivery,
  ScanPart,
} from "../../ports/consumers.js";
import type { StoreErrorCode } from "../../ports/errors.js";
import type { MessageQuery } from "../../ports/event-log.js";
import type { ProfileCommit } from "../../ports/profiles.js";
import type { Rejection } from "../../ports/rejections.js";
import type { SnapshotInfo } from "../../ports/snapshots.js";
import type { UsageDay } from "../../ports/usage.js";
import type { AppendRequest } from "./append-request.js";
import type { Applied } from "./applied.js";
import type { LogRow } from "./log-row.js";
import type { ConflictingDocument } from "./refusal.js";
import type { SettleRequest } from "./settle-request.js";

/**
 * The calls that the main thread can make to the worker. To add one:
 *
 *  1. Declare it in one of the interfaces below, with its request and answer. Both are structured-cloned: use plain data, and typed
 *     arrays where speed matters.
 *  2. If it writes, list it in `WRITES`. It then is in an entry of the log that it shares with other calls, and is answered when the entry
 *     is synced. After a crash it runs again, with the same request: what it does may depend on that and on stored data alone. All other
 *     calls run after the writes that came with them, on synced data.
 *  3. Handle it in `thread/handlers.ts`. A handler that cannot do its work throws a `Refusal`: its call is undone and refused, and the
 *     others go on. The same happens when it meets damaged data. A failure of the disk ends the entry for all calls, and the database
 *     is opened again (see `database/damage.ts`).
 *  4. New tables are a new step at the end of `database/schema.ts`.
 *
 * The main thread calls it with `connection.ask(name, request)`.
 */
export interface Operations
  extends LogOperations,
    ConsumerOperations,
    DocumentOperations,
    RejectionOperations,
    UsageOperations,
    PurgeOperations,
    SnapshotOperations,
    ClearOperations,
    ReplicaOperations {}

export type OperationName = keyof Operations;

export const WRITES: ReadonlySet<OperationName> = new Set<OperationName>([
  "append",
  "retain",
  "expireRejections",
  "rest",
  "resumeRetries",
  "openConsumer",
  "settle",
  "requeue",
  "retryNow",
  "removeConsumer",
  "putDocuments",
  "deleteDocument",
  "reject",
  "purgeMessages",
  "purgeRejections",
]);

/** Neither read-only nor part of a commit. If the disk fails them, it would fail the next commit too. */
export const MAINTENANCE: ReadonlySet<OperationName> = new Set<OperationName>([
  "clear",
  "compact",
  "beginSnapshot",
]);

export interface LogOperations {
  /**
   * Marks what retention drops; the data goes in the background. `nowMs`: trusted time. `segments`: which ones, as `chooseDropped` answered;
   * by default the call chooses itself.
   */
  retain: { request: { nowMs: number; segments?: readonly number[] }; answer: undefined };
  /** The numbers of the segments that `retain` would mark now. */
  chooseDropped: { request: { nowMs: number }; answer: readonly number[] };
  /** Removes refused messages that are past the age limit. `nowMs`: trusted time. */
  expireRejections: { request: { nowMs: number }; answer: undefined };
  /** Stores the time, or empties the write-ahead log if nothing was written since the last call. `nowMs`: trusted time. */
  rest: { request: { nowMs: number; monotonicMs: number }; answer: undefined };
  append: {
    request: AppendRequest & AdmittedBy & { readonly trustedMs: number };
    answer: AppendAnswer;
  };
  readLog: { request: { after: number; messages: number; bytes: number }; answer: ReadAnswer };
  findInLog: { request: FindRequest; answer: FindAnswer };
}

/** What a request of another thread was made with. */
export interface AdmittedBy {
  /** Of the hashes in it. */
  readonly seed: number;
  /** The last change of a document that the thread had followed. */
  readonly change: number;
}

export interface AppendAnswer {
  /** A document by which messages are admitted has changed since, and nothing was stored. */
  readonly isHandedBack?: true;
  /** Pairs: the index of a batch in the request, the index of a message in that batch. */
  readonly duplicates?: readonly number[];
}

export interface ReadAnswer {
  readonly rows: readonly LogRow[];
}

export interface FindRequest {
  readonly query: MessageQuery;
  /** Only messages before this offset. */
  readonly before: number;
  /** Messages wanted at most. */
  readonly limit: number;
}

export interface FindAnswer {
  /** Newest first. */
  readonly rows: readonly LogRow[];
  /** Offsets in these rows whose messages may match, descending. Absent: all may. */
  readonly offsets?: readonly number[];
  /** Where the search continues. Absent: it is complete. */
  readonly before?: number;
}

export interface ConsumerOperations {
  resumeRetries: { request: { nowMs: number }; answer: undefined };
  openConsumer: { request: { consumerId: string; startAfter: number }; answer: ConsumerState };
  settle: { request: SettleRequest; answer: readonly Offset[] | undefined };
  requeue: { request: { consumerId: string; retries: readonly Retry[]; nowMs: number }; answer: undefined };
  retryNow: { request: RetryNowRequest; answer: readonly Offset[] };
  removeConsumer: { request: { consumerId: string }; answer: undefined };
  lease: {
    request: { consumerId: string; nowMs: number; untilMs: number; limit: number; storedUntilMs?: number };
    answer: readonly Retry[];
  };
  inLane: { request: { consumerId: string; lane: number; limit: number }; answer: readonly Retry[] };
  lanes: { request: { consumerId: string; limit: number; after: number }; answer: readonly Lane[] };
  withoutLane: { request: { consumerId: string; after: number; limit: number }; answer: readonly Retry[] };
  nextDue: { request: { consumerId: string; nowMs: number }; answer: number | undefined };
  outcomesOf: { request: { offset: number; consumerId?: string }; answer: readonly Delivery[] };
  attemptsOf: { request: { consumerId: string; offset: number }; answer: readonly Attempt[] };
  listDeliveries: { request: DeliveryListRequest; answer: DeliveryListAnswer };
  /** Times of pending deliveries are monotonic readings. */
  scanDeliveries: {
    request: { consumerId: string; states: readonly Delivery["state"][]; before: number };
    answer: ScanPart<ScannedDelivery>;
  };
  /** Times of pending deliveries are monotonic readings. */
  tallyDeliveries: {
    request: { consumerId: string; before: number };
    answer: ScanPart<DeliveryTally>;
  };
  backlog: { request: { consumerId: string; after?: number }; answer: { behind: number; retries: number } };
}

export interface RetryNowRequest {
  readonly consumerId: string;
  readonly offsets: readonly Offset[];
  readonly dueAtMs: number;
  readonly states: readonly Delivery["state"][];
  readonly nowMs: number;
}

export interface DeliveryListRequest {
  readonly query: DeliveryQuery;
  /** The query's bounds for pending deliveries, whose times are monotonic readings. */
  readonly pendingBounds: Pick<DeliveryQuery, "fromMs" | "toMs">;
  /** The position of the last item returned. */
  readonly position: number;
  readonly tie: string;
  readonly limit: number;
}

export interface DeliveryListAnswer {
  readonly items: readonly Delivery[];
  /** Where the search continues. Absent: it is complete. */
  readonly resumeAt?: { readonly position: number; readonly tie: string };
}

export interface StoredDocument {
  readonly id: string;
  readonly version: number;
  readonly json: string;
}

export interface DocumentOperations {
  getDocument: { request: { kind: string; id: string }; answer: StoredDocument | undefined };
  listDocuments: { request: { kind: string }; answer: readonly StoredDocument[] };
  /** All of them, or none. */
  putDocuments: {
    request: {
      puts: readonly { kind: string; id: string; json: string; expected: number | undefined }[];
    };
    answer: readonly { version: number }[];
  };
  deleteDocument: { request: { kind: string; id: string }; answer: boolean };
}

export interface RejectionQuery {
  readonly messageId?: string;
  readonly sourceId?: string;
  readonly fromMs?: number;
  readonly toMs?: number;
}

export interface RejectionOperations {
  reject: { request: { rejections: readonly Rejection[] }; answer: undefined };
  findRejections: {
    request: { query: RejectionQuery; before: number; limit: number };
    answer: readonly { readonly no: number; readonly rejection: Rejection }[];
  };
}

export interface UsageOperations {
  usageDays: { request: { sourceId: string }; answer: readonly UsageDay[] };
}

/** See `Snapshots`. */
export interface SnapshotOperations {
  beginSnapshot: { request: Record<string, never>; answer: SnapshotInfo };
  readSnapshot: { request: { at: number; bytes: number }; answer: Uint8Array };
  endSnapshot: { request: Record<string, never>; answer: undefined };
}

export interface ClearOperations {
  /** Answered by the worker itself, because it replaces the open store. */
  clear: { request: Record<string, never>; answer: undefined };
}

/** Only in a copy of a replicated log. */
export interface ReplicaOperations {
  /** Applies the next entry of the log. An entry that is not the next one is refused. */
  apply: {
    request: { sequence: number; data: Uint8Array<ArrayBuffer>; isAnswered: boolean };
    answer: AppliedEntry;
  };
  /** Calls a method of the profiles' file. Only `commitProfiles` changes it. */
  profiles: { request: { method: ProfileRead; args: readonly unknown[] }; answer: unknown };
  /** Part of an entry. */
  commitProfiles: { request: ProfileCommit; answer: undefined };
  /** Begins snapshots of both files of the copy, as they are after the same entry. */
  beginCopySnapshot: {
    request: Record<string, never>;
    answer: { applied: Applied; store: SnapshotInfo; profiles: SnapshotInfo };
  };
  /** What the main thread keeps a copy of, as it is now. */
  describe: { request: Record<string, never>; answer: Snapshot };
}

export type ProfileRead =
  | "cursor"
  | "documents"
  | "resolve"
  | "load"
  | "scan"
  | "count"
  | "due"
  | "nextDueMs"
  | "members"
  | "held"
  | "pending"
  | "compact"
  | "beginSnapshot"
  | "readSnapshot"
  | "endSnapshot";

export interface AppliedEntry {
  readonly applied: Applied;
  /** The answers of the entry's calls, in their order. Absent if nobody waits for them, or if the entry was ignored. */
  readonly answers?: readonly CallAnswer[];
}

/** How a call ended. */
export type CallAnswer =
  | { readonly kind: "done"; readonly answer: unknown }
  | {
      readonly kind: "refused";
      readonly code: StoreErrorCode;
      readonly detail: string;
      readonly current: ConflictingDocument | undefined;
    };

// ── What goes over the port ────────────────────────────────────────────────────────────────────────────────

/** One operation; `id` is repeated in its answer. */
export interface Call {
  readonly id: number;
  readonly operation: OperationName;
  readonly request: unknown;
}

export type ToWorker =
  | { readonly kind: "calls"; readonly calls: readonly Call[] }
  /** After a failure: open the database again. */
  | { readonly kind: "reopen" }
  | { readonly kind: "close" };

/** Stored data of which the main thread keeps a copy. */
export interface Snapshot {
  /** The last stored trusted time; see `TrustedTime`. */
  readonly trustedMs?: number;
  readonly seed: number;
  /** Only in a copy of a replicated log. */
  readonly applied?: Applied;
  readonly sources: readonly (readonly [sourceNo: number, sourceId: string])[];
  readonly stats: LogStats;
}

/** Numbers that change with each commit. */
export interface LogStats {
  /** The offset of the last message. */
  readonly head: number;
  readonly messages: number;
  readonly bytes: number;
  readonly heldBack?: { readonly consumerId: string; readonly bytes: number };
}

export type Answer = CallAnswer & { readonly id: number };

export type FromWorker =
  | { readonly kind: "opened"; readonly snapshot: Snapshot }
  /** The database could not be opened. `final`: trying again does not help. */
  | {
      readonly kind: "not-opened";
      readonly reason: string;
      readonly final: boolean;
      readonly isInUse: boolean;
    }
  /** The answers of one commit and of the reads after it. */
  | { readonly kind: "answers"; readonly answers: readonly Answer[]; readonly stats: LogStats }
  /** Nothing of these calls was kept. The worker refuses all calls until `reopen`. */
  | { readonly kind: "failed"; readonly reason: string; readonly ids: readonly number[] }
  /** Damaged data was found. A call that needed it was refused; everything else goes on. */
  | {
      readonly kind: "damaged";
      readonly what: string;
      /** It is stored data. Otherwise it may be a mistake in the code that reads it. */
      readonly isCertain: boolean;
    }
  /** See `Opening.noted`. */
  | { readonly kind: "noted"; readonly what: string }
  | { readonly kind: "closed" };

/** Rows of refused messages that a purge has not checked yet. */
export interface RejectionsLeft {
  readonly after: number;
  /** Default: the newest row. */
  readonly upTo?: number;
}

export interface PurgeOperations {
  /** Overwrites messages and the contents of their attempts. */
  purgeMessages: { request: { offsets: readonly number[] }; answer: { attempts: number; retries: number } };
  /** Checks some refused messages. Returns the rest for the next step; undefined at the end. */
  purgeRejections: {
    request: RejectionsLeft & { identities: readonly Identity[]; requested: readonly Identity[] };
    answer: RejectionsLeft | undefined;
  };
  /**
   * Returns free pages to the file system, then checkpoints and empties the write-ahead log. Deleted bytes in the database are
   * overwritten when they are deleted. Answered when all steps are done.
   */
  compact: { request: Record<string, never>; answer: undefined };
}
