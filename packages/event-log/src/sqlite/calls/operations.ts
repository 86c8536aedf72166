import type { Identity } from "../../message/identity.js";
import type { Attempt, ConsumerState, Delivery, DeliveryQuery, Retry } from "../../ports/consumers.js";
import type { StoreErrorCode } from "../../ports/errors.js";
import type { MessageQuery } from "../../ports/event-log.js";
import type { Rejection } from "../../ports/rejections.js";
import type { UsageDay } from "../../ports/usage.js";
import type { AppendRequest } from "./append-request.js";
import type { LogRow } from "./log-row.js";
import type { SettleRequest } from "./settle-request.js";

/**
 * The calls that the main thread can make to the worker. To add one:
 *
 *  1. Declare it in one of the interfaces below, with its request and answer. Both are structured-cloned: use plain data, and typed
 *     arrays where speed matters.
 *  2. If it writes, list it in `WRITES`. It then runs in a commit that it shares with other calls, and is answered when the commit is
 *     synced. All other calls run after the commit, on synced data.
 *  3. Handle it in `thread/handlers.ts`. A handler that cannot do its work throws a `Refusal`: its call is undone and refused, and the
 *     others go on. The same happens when it meets damaged data. A failure of the disk ends the commit for all calls, and the database
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
    ClearOperations {}

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
  "removeConsumer",
  "putDocuments",
  "deleteDocument",
  "reject",
  "purgeMessages",
  "dropUnusedTexts",
  "purgeRejections",
]);

/** Neither read-only nor part of a commit. If the disk fails them, it would fail the next commit too. */
export const MAINTENANCE: ReadonlySet<OperationName> = new Set<OperationName>(["clear", "compact"]);

export interface LogOperations {
  /** Marks what retention drops; the data goes in the background. `nowMs`: trusted time. */
  retain: { request: { nowMs: number }; answer: undefined };
  /** Removes refused messages that are past the age limit. `nowMs`: trusted time. */
  expireRejections: { request: { nowMs: number }; answer: undefined };
  /** Stores the time, or empties the write-ahead log if nothing was written since the last call. `nowMs`: trusted time. */
  rest: { request: { nowMs: number; monotonicMs: number }; answer: undefined };
  append: { request: AppendRequest & { readonly trustedMs: number }; answer: AppendAnswer };
  readLog: { request: { after: number; messages: number; bytes: number }; answer: ReadAnswer };
  findInLog: { request: FindRequest; answer: FindAnswer };
}

export interface AppendAnswer {
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
  settle: { request: SettleRequest; answer: undefined };
  requeue: { request: { consumerId: string; retries: readonly Retry[]; nowMs: number }; answer: undefined };
  removeConsumer: { request: { consumerId: string }; answer: undefined };
  lease: {
    request: { consumerId: string; nowMs: number; untilMs: number; limit: number };
    answer: readonly Retry[];
  };
  nextDue: { request: { consumerId: string; nowMs: number }; answer: number | undefined };
  outcomesOf: { request: { offset: number }; answer: readonly Delivery[] };
  attemptsOf: { request: { consumerId: string; offset: number }; answer: readonly Attempt[] };
  listDeliveries: { request: DeliveryListRequest; answer: DeliveryListAnswer };
  backlog: { request: { consumerId: string; after?: number }; answer: { behind: number; retries: number } };
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

export interface ClearOperations {
  /** Answered by the worker itself, because it replaces the open store. */
  clear: { request: Record<string, never>; answer: undefined };
}

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

export type Answer =
  | { readonly id: number; readonly kind: "done"; readonly answer: unknown }
  | {
      readonly id: number;
      readonly kind: "refused";
      readonly code: StoreErrorCode;
      readonly detail: string;
      readonly current: number | undefined;
    };

export type FromWorker =
  | { readonly kind: "opened"; readonly snapshot: Snapshot }
  /** The database could not be opened. `final`: trying again does not help. */
  | { readonly kind: "not-opened"; readonly reason: string; readonly final: boolean }
  /** The answers of one commit and of the reads after it. */
  | { readonly kind: "answers"; readonly answers: readonly Answer[]; readonly stats: LogStats }
  /** Nothing of these calls was kept. The worker refuses all calls until `reopen`. */
  | { readonly kind: "failed"; readonly reason: string; readonly ids: readonly number[] }
  /** Damaged data was found. A call that needed it was refused; everything else goes on. */
  | { readonly kind: "damaged"; readonly what: string }
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
  /** One step of deleting texts of older versions that only purged attempts used. */
  dropUnusedTexts: { request: Record<string, never>; answer: { readonly isDone: boolean } };
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
