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
 * What the main thread can ask the worker for. To add an operation:
 *
 *  1. name it in one of the interfaces below, or in an interface of your own that `Operations` then extends, with what is
 *     asked and what is answered (both are structured-cloned: plain data, typed arrays on paths that matter);
 *  2. if it writes, list its name in `WRITES`: it then runs inside the commit that it shares with whatever else has arrived, and is
 *     answered once that is synced. All others run after the commit, on what is synced;
 *  3. handle it in `worker/handlers.ts` (or in an object of your own that is spread there). A handler that finds that it cannot do
 *     what is asked throws a `Refusal`: the call is undone and refused, and the others go on. So it is where stored data turns out to be
 *     damaged; a failure of the disk ends the commit for all, and the database is opened anew (see `worker/damage.ts`);
 *  4. new tables are a new step at the end of `worker/schema.ts`.
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

/** Neither read only nor part of a commit: what the disk refuses them it refuses the next commit too. */
export const MAINTENANCE: ReadonlySet<OperationName> = new Set<OperationName>(["clear", "compact"]);

export interface LogOperations {
  /** Marks what retention lets go; what is marked is dropped in the background. `nowMs`: trusted time. */
  retain: { request: { nowMs: number }; answer: undefined };
  /** Removes refused messages that are past the age limit. `nowMs`: trusted time. */
  expireRejections: { request: { nowMs: number }; answer: undefined };
  /** Remembers how late it is, or empties the write-ahead log where nothing was written since the last time. `nowMs`: trusted time. */
  rest: { request: { nowMs: number; monotonicMs: number }; answer: undefined };
  append: { request: AppendRequest & { readonly trustedMs: number }; answer: AppendAnswer };
  readLog: { request: { after: number; messages: number; bytes: number }; answer: ReadAnswer };
  findInLog: { request: FindRequest; answer: FindAnswer };
}

export interface AppendAnswer {
  /** Pairs: the place of a batch in the request, the place of a message in that batch. */
  readonly duplicates?: readonly number[];
}

export interface ReadAnswer {
  readonly rows: readonly LogRow[];
}

export interface FindRequest {
  readonly query: MessageQuery;
  /** Only messages before this offset. */
  readonly before: number;
  /** How many messages are wanted. */
  readonly limit: number;
}

export interface FindAnswer {
  /** From the newest down. */
  readonly rows: readonly LogRow[];
  /** Offsets in these rows, descending, at which messages may be that match; absent: all may. */
  readonly offsets?: readonly number[];
  /** Where the search goes on; absent: it is done. */
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
  /** The place that was given last. */
  readonly position: number;
  readonly tie: string;
  readonly limit: number;
}

export interface DeliveryListAnswer {
  readonly items: readonly Delivery[];
  /** The search is not done. */
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
  /** The worker itself answers it: the opening that is asked does not outlive it. */
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
  /** After a failure: open the database anew. */
  | { readonly kind: "reopen" }
  | { readonly kind: "close" };

/** What the main thread keeps a copy of. */
export interface Snapshot {
  /** The last trusted time that the store remembers; see `TrustedTime`. */
  readonly trustedMs?: number;
  readonly seed: number;
  readonly sources: readonly (readonly [sourceNo: number, sourceId: string])[];
  readonly stats: LogStats;
}

/** Figures that change with each commit. */
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
  /** The database could not be opened; `final`: nor will it be. */
  | { readonly kind: "not-opened"; readonly reason: string; readonly final: boolean }
  /** Of one commit and the reads after it. */
  | { readonly kind: "answers"; readonly answers: readonly Answer[]; readonly stats: LogStats }
  /** Nothing of these calls was kept, and the worker takes no more until `reopen`. */
  | { readonly kind: "failed"; readonly reason: string; readonly ids: readonly number[] }
  /** Damaged data was met. Whoever asked for it was refused, if anybody; everything else goes on. */
  | { readonly kind: "damaged"; readonly what: string }
  | { readonly kind: "closed" };

/** Rows of refused messages that a purge has not looked at. */
export interface RejectionsLeft {
  readonly after: number;
  /** Default: the newest row there is. */
  readonly upTo?: number;
}

export interface PurgeOperations {
  /** Overwrites messages, and what their attempts say. */
  purgeMessages: { request: { offsets: readonly number[] }; answer: { attempts: number; retries: number } };
  /** A step of deleting the texts of older versions that only purged attempts referred to. */
  dropUnusedTexts: { request: Record<string, never>; answer: { readonly isDone: boolean } };
  /** Looks through some of the refused messages; answers what is left for the next steps, undefined at the end. */
  purgeRejections: {
    request: RejectionsLeft & { identities: readonly Identity[]; sought: readonly Identity[] };
    answer: RejectionsLeft | undefined;
  };
  /**
   * Gives free pages back, brings the write-ahead log into the database and empties it; deleted bytes in the database are overwritten
   * when they are deleted. Answered when the steps that this takes have been made.
   */
  compact: { request: Record<string, never>; answer: undefined };
}
