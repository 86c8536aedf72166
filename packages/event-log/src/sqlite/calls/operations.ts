import type { MessagePort } from "node:worker_threads";
import type { Offset } from "../../message/batch.js";
import type { Identity } from "../../message/identity.js";
import type {
  Consumers,
  Delivery,
  DeliveryQuery,
  DeliveryTally,
  Retry,
  ScannedDelivery,
  ScanPart,
} from "../../ports/consumers.js";
import type { UsageCounters } from "../../ports/documents.js";
import type { EventLog, MessageQuery } from "../../ports/event-log.js";
import type { ProfileCommit, ProfileStore } from "../../ports/profiles.js";
import type { Rejection } from "../../ports/rejections.js";
import type { SnapshotInfo, Snapshots } from "../../ports/snapshots.js";
import type { AppendRequest } from "./append-request.js";
import type { Applied } from "./applied.js";
import type { LogRow } from "./log-row.js";
import type { Refused } from "./refusal.js";
import type { SettleRequest } from "./settle-request.js";

/**
 * The calls that other threads can make to the store's thread. To add one:
 *
 *  1. A method of a port that the store's thread can answer as it is: name it in `PassedPorts`. Its request is the list of its arguments,
 *     and `passedOn` makes the method. Any other call: declare it in one of the interfaces below, with its request and answer, and call it
 *     by `connection.ask(name, request)`. Both travel by structured clone: use plain data, and typed arrays where speed matters.
 *  2. Say in `CALLS` how it runs.
 *  3. Handle it in `thread/handlers.ts`. A handler that cannot do its work throws a `Refusal`: its call is undone and refused, and the
 *     others go on. The same happens when it meets damaged data. A failure of the disk ends the entry for all calls, and the database
 *     is opened again (see `database/damage.ts`).
 *  4. New tables are a new step at the end of `database/schema.ts`.
 */
export interface Operations
  extends PassedOperations,
    LogOperations,
    ConsumerOperations,
    DocumentOperations,
    RejectionOperations,
    PurgeOperations,
    ClearOperations,
    ReplicaOperations {}

export type OperationName = keyof Operations;

/** Methods of ports that reach the store's thread as they are called. */
export interface PassedPorts {
  readonly consumers: Pick<
    Consumers,
    | "resumeRetries"
    | "open"
    | "remove"
    | "lease"
    | "inLane"
    | "lanes"
    | "withoutLane"
    | "attemptsOf"
    | "backlog"
  >;
  readonly log: Pick<EventLog, "tally">;
  readonly usage: UsageCounters;
  readonly snapshots: Snapshots;
  /** Only in a copy of a replicated log, as the next ones. */
  readonly profiles: Omit<ProfileStore, "commit" | "compact" | "snapshots" | "close">;
  readonly profileSnapshots: Snapshots;
}

export type PassedName<Port extends keyof PassedPorts = keyof PassedPorts> = {
  [P in Port]: `${P}.${keyof PassedPorts[P] & string}`;
}[Port];

type PassedOperations = {
  [Name in PassedName]: Name extends `${infer Port extends keyof PassedPorts}.${infer Method}`
    ? PassedPorts[Port][Method & keyof PassedPorts[Port]] extends (
        ...args: infer Arguments
      ) => Promise<infer Answer>
      ? { request: Arguments; answer: Answer }
      : never
    : never;
};

/** How a call runs. */
type CallKind =
  /**
   * In an entry of the log that it shares with other calls; answered when the entry is synced. After a crash it runs again, with the same
   * request: what it does may depend on that and on stored data alone.
   */
  | "write"
  /** After the writes that came with it, on synced data. */
  | "read"
  /** A read that waits for no writes where the log is elsewhere: its callers wait for the answers of the writes that they want to see. */
  | "early read"
  /** Neither read-only nor part of a commit. If the disk fails it, it would fail the next commit too. */
  | "maintenance";

export const CALLS = {
  append: "write",
  retain: "write",
  expireRejections: "write",
  rest: "write",
  "consumers.resumeRetries": "write",
  "consumers.open": "write",
  settle: "write",
  requeue: "write",
  retryNow: "write",
  "consumers.remove": "write",
  putDocuments: "write",
  deleteDocument: "write",
  reject: "write",
  purgeMessages: "write",
  purgeRejections: "write",
  clear: "maintenance",
  compact: "maintenance",
  "snapshots.begin": "maintenance",
  readLog: "early read",
  "snapshots.read": "early read",
  "profiles.cursor": "early read",
  "profiles.documents": "early read",
  "profiles.resolve": "early read",
  "profiles.load": "early read",
  "profiles.scan": "early read",
  "profiles.count": "early read",
  "profiles.due": "early read",
  "profiles.nextDueMs": "early read",
  "profiles.members": "early read",
  "profiles.held": "early read",
  "profiles.pending": "early read",
  "profileSnapshots.begin": "early read",
  "profileSnapshots.read": "early read",
  "profileSnapshots.end": "early read",
  chooseDropped: "read",
  findInLog: "read",
  "log.tally": "read",
  "consumers.lease": "read",
  "consumers.inLane": "read",
  "consumers.lanes": "read",
  "consumers.withoutLane": "read",
  "consumers.attemptsOf": "read",
  "consumers.backlog": "read",
  nextDue: "read",
  outcomesOf: "read",
  listDeliveries: "read",
  scanDeliveries: "read",
  tallyDeliveries: "read",
  getDocument: "read",
  listDocuments: "read",
  findRejections: "read",
  "usage.days": "read",
  "snapshots.end": "read",
  // Of a replicated log. They are not part of an entry; `commitProfiles` is, but not of the store's own calls.
  apply: "read",
  commitProfiles: "read",
  beginCopySnapshot: "read",
  describe: "read",
  fence: "read",
} as const satisfies Readonly<Record<OperationName, CallKind>>;

/** The operation may come from a log, which may hold others. */
export function isWrite(operation: string): boolean {
  return CALLS[operation as OperationName] === "write";
}

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
    request: AppendRequest & {
      readonly trustedMs: number;
      /** The last change of a document that the thread had followed. Absent: it follows each before anybody hears of it. */
      readonly change?: number;
    };
    answer: AppendAnswer;
  };
  /** Answered when the appends before it are stored. Afterwards, what was admitted before this change is handed back. */
  fence: { request: { change: number }; answer: undefined };
  /** `waits`: answered when there is a message after `after`. With `messages: 0`, no rows are read. */
  readLog: {
    request: { after: number; messages: number; bytes: number; waits?: true };
    answer: ReadAnswer;
  };
  findInLog: { request: FindRequest; answer: FindAnswer };
}

export interface AppendAnswer {
  /** The offset of the first item of each batch; -1 for a batch with duplicates, or without messages. Absent if nothing was stored. */
  readonly firsts?: readonly number[];
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
  settle: { request: SettleRequest; answer: readonly Offset[] | undefined };
  requeue: { request: { consumerId: string; retries: readonly Retry[]; nowMs: number }; answer: undefined };
  retryNow: { request: RetryNowRequest; answer: readonly Offset[] };
  nextDue: { request: { consumerId: string; nowMs: number }; answer: number | undefined };
  outcomesOf: { request: { offset: number; consumerId?: string }; answer: readonly Delivery[] };
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

export interface AppliedEntry {
  readonly applied: Applied;
  /** The answers of the entry's calls, in their order. Absent if nobody waits for them, or if the entry was ignored. */
  readonly answers?: readonly CallAnswer[];
}

/** How a call ended. */
export type CallAnswer = { readonly kind: "done"; readonly answer: unknown } | Refused;

export const DONE: CallAnswer = { kind: "done", answer: undefined };

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
  | { readonly kind: "close" }
  | Join;

/** Another thread calls over a port of its own, until the store fails. */
export interface Join {
  readonly kind: "join";
  readonly port: MessagePort;
  /** Once its number is 0, no call of that thread begins any more. */
  readonly gate: Int32Array;
  /** How many sources that thread knows. */
  readonly sources: number;
  /** See the call `fence`. */
  readonly fence: number;
}

/** Stored data of which the main thread keeps a copy. */
export interface Snapshot {
  /** The last stored trusted time; see `TrustedTime`. */
  readonly trustedMs?: number;
  readonly seed: number;
  /** Only in a copy of a replicated log. */
  readonly applied?: Applied;
  readonly sources: readonly SourceName[];
  readonly stats: LogStats;
  /** The numbers of the moment, for every thread; see `sharing.ts`. */
  readonly shared: SharedArrayBuffer;
}

export type SourceName = readonly [sourceNo: number, sourceId: string];

/** Numbers that change with each commit. */
export interface LogStats {
  /** The offset of the last message. */
  readonly head: number;
  readonly messages: number;
  readonly bytes: number;
  readonly heldBack?: { readonly consumerId: string; readonly bytes: number };
  /** Sources that got a number since the last time. */
  readonly named?: readonly SourceName[];
}

export type Answer = CallAnswer & { readonly id: number };

export type FromWorker =
  | { readonly kind: "opened"; readonly snapshot: Snapshot }
  /** The database could not be opened. */
  | {
      readonly kind: "not-opened";
      readonly reason: string;
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
