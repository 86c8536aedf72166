/**
 * The ports of the collector's store. They speak of batches, messages, cursors and documents, never of SQL or
 * streams, and are shaped so that a replicated log (JetStream) can keep them as well as the embedded one:
 * appending is asynchronous and by batch, an offset is opaque, leases expire, settling is by batch, documents
 * are versioned and watched.
 *
 * Every method may reject with `StorageUnavailable` (see `../errors.ts`): nothing of that call is kept then, and
 * the store refuses further writes until it has been found sound again. It may reject with the code `data_damaged` where
 * stored data cannot be read: nothing of that call is kept either, and all other calls go on.
 */
import type { MessageKind, UncheckedMessage } from "@sluice/protocol";
import type { Identity } from "../messages/identity.js";

declare const offsetBrand: unique symbol;
/** A message's place in the log. Later messages have greater offsets; there may be gaps; it means nothing else. */
export type Offset = number & { readonly [offsetBrand]: true };

/** Before the first message of any log. */
export const BEFORE_FIRST = -1 as Offset;

/** The offset of the item at `index` of a batch whose first item has `first`. */
export function offsetAt(first: Offset, index: number): Offset {
  return (first + index) as Offset;
}

export interface Store extends Purging {
  readonly log: EventLog;
  readonly consumers: Consumers;
  readonly config: ConfigStore;
  readonly rejections: RejectionLog;
  readonly usage: UsageCounters;
  /** Whether writes are taken now; `unavailable` says why not. */
  health(): StoreHealth;
  /** Figures for metrics; they cost nothing to ask for and may be a commit old. */
  stats(): StoreStats;
  /**
   * For development and tests: forgets every message, dedupe mark, outcome, attempt, retry, refused message and count.
   * Documents stay, and so do consumers, with their cursors at the head; offsets go on where they were.
   */
  clear(): Promise<void>;
  /** Finishes what was asked for, then releases files and threads. Calls after it reject. */
  close(): Promise<void>;
}

export type StoreHealth =
  | { readonly kind: "ready" }
  | { readonly kind: "unavailable"; readonly reason: string; readonly sinceMs: number };

export interface StoreStats {
  /** Messages in the log now. */
  readonly messages: number;
  /** What the store takes on disk (or in memory), in bytes. */
  readonly bytes: number;
  /**
   * Retention wants to drop what a consumer has not come past: nothing is dropped before it has, or is removed.
   * `bytes` is how much is kept for it beyond what was asked for.
   */
  readonly retentionHeldBack?: { readonly consumerId: string; readonly bytes: number };
}

// ── The event log ────────────────────────────────────────────────────────────────────────────────────────

/**
 * One request's messages, in the bytes in which they arrived. The log is the only copy of a message;
 * `../messages/decode-batch.ts` is the one place that reads these bytes.
 */
export interface BatchContent {
  readonly sourceId: string;
  readonly receivedAtMs: number;
  /** The request's JSON after inflating: an envelope with `batch`, or one message when `kind` is set or it has no `batch`. */
  readonly body: Uint8Array;
  /** The kind that the request's path named. */
  readonly kind?: MessageKind;
  /** The sender's address, where it is to be filled in as `context.ip`. */
  readonly ip?: string;
  /** How many items the body has, refused ones included. */
  readonly itemCount: number;
  /** Places in the body of items that are no messages of the log: refused, or duplicates. Ascending. */
  readonly skipped: readonly number[];
  /** Ids made by the collector for items that came without one. */
  readonly madeIds: readonly (readonly [index: number, messageId: string])[];
  /**
   * Where present: the batch was made by the collector (audiences, deletions) for these destinations, connected or not;
   * no other sees it, and neither `integrations` nor filters are asked.
   */
  readonly onlyDestinations?: readonly string[];
}

/** What the log must know of a message to find it again, and to know it when it comes twice. */
export interface MessageKey {
  readonly index: number;
  readonly messageId: string;
  /** `userId`, else `anonymousId`. */
  readonly userId: string;
  /** It is an `anonymousId`. */
  readonly isAnonymous?: true;
  readonly type: string;
  readonly event?: string;
}

export interface NewBatch extends BatchContent {
  /** One for each item that is not skipped, by ascending index. */
  readonly keys: readonly MessageKey[];
}

export interface StoredBatch extends BatchContent {
  /** The offset of the item at index 0; `offsetAt` tells the others'. */
  readonly first: Offset;
}

/** A message of the log, decoded: parsed, coerced, with its id. */
export interface StoredMessage {
  readonly offset: Offset;
  readonly sourceId: string;
  readonly receivedAtMs: number;
  readonly messageId: string;
  readonly message: UncheckedMessage;
  /** As in its batch. */
  readonly onlyDestinations?: readonly string[];
}

export interface AppendResult {
  /** Places in the body of messages whose (source, messageId) was received before, within the dedupe window. */
  readonly duplicates: readonly number[];
}

export interface MessageQuery {
  readonly messageId?: string;
  readonly sourceId?: string;
  /** `userId`, else `anonymousId`, whichever it is. */
  readonly userId?: string;
  /** The same with its kind. */
  readonly identity?: Identity;
  readonly type?: string;
  /** A track message's event; messages of other kinds have none. */
  readonly event?: string;
  /** By receipt; inclusive and exclusive. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** Text that the message's JSON must contain, ignoring case. */
  readonly text?: string;
  /** How the message stands at one consumer at least, as `Consumers.outcomesOf` tells. */
  readonly outcome?: FinalState;
}

export interface PageRequest {
  /** At most this many items. */
  readonly limit: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

export interface EventLog {
  /**
   * Resolves when the batch and its dedupe marks are synced to disk in one transaction: only then may a client be
   * told 200. Batches handed over while a commit is under way share the next one. Duplicates, within the batch
   * too, are skipped and named; a batch in which nothing is new is not stored.
   */
  append(batch: NewBatch): Promise<AppendResult>;
  /**
   * Whole batches in order, beginning with the one that holds the first message after `after`: at least one if there is
   * any, then as many as fit in both limits. Only synced ones.
   */
  read(
    after: Offset,
    max: { readonly messages: number; readonly bytes: number },
  ): Promise<readonly StoredBatch[]>;
  /** The offset of the last item that is synced; `BEFORE_FIRST` of an empty log. */
  head(): Offset;
  /** Called after each commit that added something. Returns the function that ends it. */
  onAppend(listener: () => void): () => void;
  /** Messages newest first. A page may have fewer than `limit`, even none, and yet a `nextCursor`: a long search goes on there. */
  find(query: MessageQuery, page: PageRequest): Promise<Page<StoredMessage>>;
  /** The message at an offset; undefined when it was purged or dropped by retention. */
  get(offset: Offset): Promise<StoredMessage | undefined>;
}

// ── Consumers: a cursor over the log, a retry queue, outcomes ──────────────────────────────────────────────

/** The final ways that a message can end at a destination. While none stands, it is pending. */
export type FinalState = "delivered" | "failed" | "filtered" | "skipped" | "suppressed";

export interface Outcome {
  readonly offset: Offset;
  readonly state: FinalState;
  /** Why: the flag, the filter, the status, the certificate. Few distinct values per destination (they are stored once each). */
  readonly reason: string;
  readonly atMs: number;
}

/** A message that failed at a destination and is to be tried again. Keyed by consumer and offset. */
export interface Retry {
  readonly offset: Offset;
  /** Rounds made so far; 0 for a replay that was not begun. */
  readonly rounds: number;
  /** When the first round began, as a monotonic reading: the retry window is counted from here, across restarts. */
  readonly firstAttemptAtMs: number;
  /** Not before this monotonic reading. */
  readonly dueAtMs: number;
  /** Why the last round failed. */
  readonly reason: string;
  /** URLs that are not tried again for this message: failed for good, or (where each URL counts) delivered. */
  readonly doneUrls: readonly string[];
  /** Those of `doneUrls` that failed for good. Absent: none. */
  readonly failedUrls?: readonly string[];
  /**
   * Where each URL has retries of its own: those that have not ended, each with its own count and time. `dueAtMs` is the earliest
   * of theirs. Absent: all URLs are tried together.
   */
  readonly urls?: readonly UrlRetry[];
  /** Asked for by a person: a message that was settled before. */
  readonly replay: boolean;
}

/** Where one URL stands with a message that it has not taken. */
export interface UrlRetry {
  readonly url: string;
  /** Attempts made. */
  readonly rounds: number;
  readonly dueAtMs: number;
}

/** One HTTP exchange (or write) of a round. */
export interface Attempt {
  readonly offset: Offset;
  /** The round, from 1, counted over restarts. */
  readonly attempt: number;
  readonly atMs: number;
  readonly url: string;
  /** The address really connected to. */
  readonly address?: string | undefined;
  readonly status?: number | undefined;
  /** A code and a sentence that a person can act on; absent on success. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly latencyMs: number;
  /** Secrets replaced. */
  readonly requestHeaders?: { readonly [name: string]: string } | undefined;
  /** The first 4 KB of the answer's body. */
  readonly response?: string | undefined;
  readonly replay?: boolean;
}

/** What a consumer has found out since it last said so. Stored in one transaction. */
export interface Settlement {
  /** Every message at or before it has an outcome or a retry. Never moves back. */
  readonly cursor: Offset;
  /** Final states; a retry of the same message ends with it. May lie beyond the cursor. */
  readonly outcomes: readonly Outcome[];
  /** Puts or replaces retries. May lie beyond the cursor. */
  readonly retries: readonly Retry[];
  readonly attempts: readonly Attempt[];
}

export interface ConsumerState {
  readonly cursor: Offset;
  /** Messages beyond the cursor that have an outcome or a retry already: they are not to be handled again. */
  readonly settledAhead: readonly Offset[];
  /** The number of retries waiting. */
  readonly retries: number;
}

export interface Delivery {
  readonly consumerId: string;
  readonly offset: Offset;
  readonly state: FinalState | "pending";
  readonly reason: string;
  /** Wall time, as `nextAttemptAtMs` is. */
  readonly atMs: number;
  readonly rounds: number;
  readonly nextAttemptAtMs?: number;
  /** While pending: the retry that waits. */
  readonly retry?: Retry;
}

export interface DeliveryQuery {
  readonly consumerId?: string;
  readonly state?: FinalState | "pending";
  /** Text that the reason must contain. */
  readonly error?: string;
  readonly fromMs?: number;
  readonly toMs?: number;
}

export interface Consumers {
  /**
   * Takes over the retries that an earlier process left: from now on their times are readings of this process's clock, of
   * which `nowMs` is one (see `carryOver`). To be called once, before a consumer is opened. Leases end.
   */
  resumeRetries(nowMs: number): Promise<void>;
  /** The consumer's state; a new one begins after `startAfter`. */
  open(consumerId: string, startAfter: Offset): Promise<ConsumerState>;
  /** Resolves when the settlement is synced. */
  settle(consumerId: string, settlement: Settlement): Promise<void>;
  /**
   * Retries that are due, oldest due first, leased until `leaseUntilMs`: they are not handed out again before,
   * unless settled. Both times are monotonic readings. A lease is not kept over a restart.
   */
  lease(consumerId: string, nowMs: number, leaseUntilMs: number, limit: number): Promise<readonly Retry[]>;
  /** The earliest due time of a retry that is not leased; undefined when there is none. */
  nextDueMs(consumerId: string): Promise<number | undefined>;
  /** Puts retries without moving the cursor: replays, and "try now". Replaces those of the same messages. */
  requeue(consumerId: string, retries: readonly Retry[]): Promise<void>;
  /** Outcomes and pending retries of one message, one a consumer. */
  outcomesOf(offset: Offset): Promise<readonly Delivery[]>;
  /** All attempts of one message at one consumer, oldest first. */
  attemptsOf(consumerId: string, offset: Offset): Promise<readonly Attempt[]>;
  /** Deliveries newest first. Without a `state`: failed and pending ones. */
  list(query: DeliveryQuery, page: PageRequest): Promise<Page<Delivery>>;
  /** Messages after the stored cursor, or after where the consumer says that it is, and retries waiting. */
  backlog(consumerId: string, after?: Offset): Promise<{ readonly behind: number; readonly retries: number }>;
  /** Forgets the consumer with all it stored. */
  remove(consumerId: string): Promise<void>;
}

// ── Purging ─────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Which messages are taken out: all with a user id, all with an anonymous id and no user id, all of several such ids, or one by its
 * message id.
 */
export type PurgeQuery =
  | { readonly userId: string }
  | { readonly anonymousId: string }
  | {
      readonly identities: readonly Identity[];
      /** Those that are looked for in the text of refused messages that name no id. Default: all. */
      readonly sought?: readonly Identity[];
    }
  | { readonly sourceId: string; readonly messageId: string };

/** What was taken out. */
export interface Purged {
  readonly messages: number;
  /** Attempts whose contents were removed. */
  readonly attempts: number;
  readonly retries: number;
}

/** Taking users out of the store: what `deletions/` asks of it. */
export interface Purging {
  /**
   * Overwrites the messages in the log, with the contents of their attempts (answers, messages of errors, request headers), their
   * retries, and refused messages of the user. What other messages' attempts say stays as it is.
   * `find`, `read` and `get` do not show them any more; offsets stay as they are. Their ids stay known to dedupe, so that a client
   * that sends one again has sent a duplicate. Resolves when it is synced. Called again it takes out what is left. It goes as far as the
   * log did at the call: later messages stay. Rejects with `signal.reason` between two commits where `signal` aborts.
   */
  purge(query: PurgeQuery, signal?: AbortSignal): Promise<Purged>;
  /**
   * Resolves when what was purged (and documents that were replaced or deleted) is in no byte of the store's files. Works in
   * small steps between commits, after whatever else was to be done in the background.
   */
  compact(): Promise<void>;
}

// ── Documents ────────────────────────────────────────────────────────────────────────────────────────────

/** A document and its version, which grows by one with each change. */
export interface Versioned<T> {
  readonly id: string;
  readonly version: number;
  readonly value: T;
}

export interface ConfigChange {
  readonly kind: string;
  readonly id: string;
  /** As it is stored now. Absent: it was deleted. */
  readonly document?: Versioned<unknown>;
}

/** Follows changes of documents; see `ConfigStore.watch`. */
export type ConfigListener = (change: ConfigChange) => Promise<void> | void;

/** One `put` of several. */
export interface DocumentPut {
  readonly kind: string;
  readonly id: string;
  readonly value: unknown;
  readonly expected?: number;
}

/**
 * Small JSON documents by kind (`source`, `destination`, `token`, …) and id. A change is in force once the call that made it
 * resolves: it is synced by then, and everything in this process that watches it follows it.
 */
export interface ConfigStore {
  get<T>(kind: string, id: string): Promise<Versioned<T> | undefined>;
  /** All of a kind, oldest first. */
  list<T>(kind: string): Promise<readonly Versioned<T>[]>;
  /**
   * Stores a document and resolves with it when it is synced. With `expected`, only when that is the version now
   * (0: it must not exist); else rejects with `VersionConflict`.
   */
  put<T>(kind: string, id: string, value: T, expected?: number): Promise<Versioned<T>>;
  /** Several puts in one transaction: all of them, or, when a document is not at its expected version, none. */
  putAll(puts: readonly DocumentPut[]): Promise<readonly Versioned<unknown>[]>;
  delete(kind: string, id: string): Promise<boolean>;
  /**
   * Calls `listener` after each change, own changes included, in the order of the changes and before the call that made the change
   * resolves. That call also waits for the promise that the listener returns. A listener handles its own failures, and must not
   * wait for a change of the document that it is told of. Returns the function that ends it.
   */
  watch(listener: ConfigListener): () => void;
}

// ── Refused messages and counters ──────────────────────────────────────────────────────────────────────

export interface Rejection {
  readonly sourceId: string;
  readonly receivedAtMs: number;
  readonly messageId?: string;
  /** What kind of message it was to be, by the request's path or by itself; absent for a request that was refused whole. */
  readonly type?: string;
  readonly issues: readonly { readonly code: string; readonly path: string; readonly message: string }[];
  /** The refused message's JSON, cut at 4 KB; of a request that was refused whole, its beginning, as far as it was read. */
  readonly excerpt: string;
  /** The ids that it names or may name: the deletion of one of them removes it. Absent: none that is known of. */
  readonly identities?: readonly Identity[];
  /** The same as an older version stored it, without kinds. */
  readonly users?: readonly string[];
}

/**
 * Refused messages for the debugger: the newest are kept, at most as many as the store was told (default 10,000), and none that is
 * older than messages may be.
 */
export interface RejectionLog {
  /** Not synced: a refused message may be forgotten in a power cut. Never rejects. */
  add(rejections: readonly Rejection[]): void;
  find(
    query: {
      readonly messageId?: string;
      readonly sourceId?: string;
      readonly fromMs?: number;
      readonly toMs?: number;
    },
    page: PageRequest,
  ): Promise<Page<Rejection>>;
}

export interface UsageDay {
  /** `2026-11-21`, UTC. */
  readonly day: string;
  readonly accepted: number;
  readonly filtered: number;
  readonly delivered: number;
}

/** Counted in the transactions that append and settle. */
export interface UsageCounters {
  /** Newest first, at most 90. */
  days(sourceId: string): Promise<readonly UsageDay[]>;
}
