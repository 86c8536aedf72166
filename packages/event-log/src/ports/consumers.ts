import type { Offset } from "../message/batch.js";
import type { Page, PageRequest } from "./documents.js";

/** How a delivery can end. Until then the message is pending at the destination. */
export type FinalState = "delivered" | "failed" | "filtered" | "skipped" | "suppressed" | "discarded";

export interface Outcome {
  readonly offset: Offset;
  readonly state: FinalState;
  /** Why: the flag, the filter, the status, the certificate. Use few distinct values per destination: each is stored once. */
  readonly reason: string;
  readonly atMs: number;
}

/** A message that failed at a destination and will be tried again. Its key is consumer and offset. */
export interface Retry {
  readonly offset: Offset;
  /** Attempts made so far (an attempt sends to all URLs); 0 for a replay that has not started. */
  readonly rounds: number;
  /** When the first attempt began, as a monotonic reading. The retry window starts here, across restarts. */
  readonly firstAttemptAtMs: number;
  /** A monotonic reading. The next attempt does not start earlier. */
  readonly dueAtMs: number;
  /**
   * A monotonic reading. Before it the retry is not released early: the receiver asked for the delay, or the message waits for an
   * earlier one of its user. Absent: it may be released at any time.
   */
  readonly notBeforeMs?: number;
  /** Why the last attempt failed. */
  readonly reason: string;
  /** URLs that are finished with the message: they accepted it or failed permanently. */
  readonly doneUrls: readonly string[];
  /** The `doneUrls` that failed permanently. Absent: none. */
  readonly failedUrls?: readonly string[];
  /**
   * If each URL is retried by itself: the URLs that are not done, each with its own count and time. `dueAtMs` is the earliest of
   * their times. Absent: all URLs are tried together.
   */
  readonly urls?: readonly UrlRetry[];
  /** A replay: somebody asked to send a settled message again. */
  readonly replay: boolean;
  /**
   * Retries with the same number are sent one after the other, in the order of the log. An integer. Stored again without one, a retry
   * keeps the one that it has. Absent: none.
   */
  readonly lane?: number;
}

/** The retries of a lane. */
export interface Lane {
  readonly lane: number;
  /** The retry of its earliest message. */
  readonly first: Retry;
  /** The offset of its latest message. */
  readonly last: Offset;
  readonly count: number;
}

/** The retry of one URL. */
export interface UrlRetry {
  readonly url: string;
  /** Attempts made. */
  readonly rounds: number;
  readonly dueAtMs: number;
}

/** One HTTP exchange with one URL, or one write. */
export interface Attempt {
  readonly offset: Offset;
  /** The number of the attempt, from 1, across restarts. Exchanges with several URLs share it. */
  readonly attempt: number;
  readonly atMs: number;
  readonly url: string;
  /** The address that the connection went to. */
  readonly address?: string | undefined;
  readonly status?: number | undefined;
  /** A code, and a sentence that says what to do. Absent on success. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly latencyMs: number;
  /** Without secrets. */
  readonly requestHeaders?: { readonly [name: string]: string } | undefined;
  /** The first 4 KB of the response body. */
  readonly response?: string | undefined;
  /** Without secrets. Only of a response that did not accept the message. */
  readonly responseHeaders?: ResponseHeaders | undefined;
  readonly replay?: boolean;
  /** The code that changed what was sent, with its version. Use few distinct values: each is stored once. Absent: none did. */
  readonly transformation?: string | undefined;
}

export interface ResponseHeaders {
  readonly shown: { readonly [name: string]: string };
  /** How many more there were. */
  readonly leftOut: number;
}

/**
 * Messages that a consumer sends together. It is stored before they are sent, so that a repetition after a crash sends the same under the
 * same name. It holds nothing of the messages but their places.
 */
export interface SentRange {
  readonly id: string;
  /** Its messages, in the order of the log: the first and the last offset of each run. */
  readonly runs: readonly (readonly [first: Offset, last: Offset])[];
  /** The settings that make what is sent, as JSON. The store does not read it. */
  readonly settings: unknown;
}

/** What a consumer settled since its last settlement. Stored in one transaction. */
export interface Settlement {
  /** Every message at or before it has an outcome or a retry. A lower cursor than the stored one is ignored. */
  readonly cursor: Offset;
  /** Final states. Each removes the retry of its message. May lie beyond the cursor. */
  readonly outcomes: readonly Outcome[];
  /** Added, or replacing retries of the same messages. May lie beyond the cursor. */
  readonly retries: readonly Retry[];
  readonly attempts: readonly Attempt[];
  /** Puts waiting retries into lanes. Ignored for a message without a retry. */
  readonly lanes?: readonly Required<Pick<Retry, "offset" | "lane">>[];
  /** What is sent from now on, in place of the range before it. `null`: the results of that one are stored. Absent: no change. */
  readonly range?: SentRange | null;
}

export interface ConsumerState {
  readonly cursor: Offset;
  /** Messages beyond the cursor that already have an outcome or a retry. Do not handle them again. */
  readonly settledAhead: readonly Offset[];
  /** Number of waiting retries. */
  readonly retries: number;
  /** What was being sent, and may have arrived. Absent: nothing. */
  readonly range?: SentRange;
}

export interface Delivery {
  readonly consumerId: string;
  readonly offset: Offset;
  readonly state: FinalState | "pending";
  readonly reason: string;
  /** Wall time. For a pending delivery, when its retry was stored. */
  readonly atMs: number;
  /** Attempts made so far. */
  readonly rounds: number;
  /** Wall time. Absent unless pending. */
  readonly nextAttemptAtMs?: number;
  /** The waiting retry. Absent unless pending. */
  readonly retry?: Retry;
}

/** A delivery without what costs a look-up of its own. */
export interface ScannedDelivery {
  readonly offset: Offset;
  readonly state: Delivery["state"];
  readonly reason: string;
  /** Wall time. For a pending delivery, when its retry was stored. */
  readonly atMs: number;
}

/** The failed or retried deliveries of a consumer that share a state and a reason. Times are wall times. */
export interface DeliveryTally {
  readonly state: "failed" | "pending";
  readonly reason: string;
  readonly count: number;
  /** The earliest failure. For pending deliveries, the earliest first attempt. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** The newest message. */
  readonly newest: Offset;
}

/** A part of a scan. `before`: where the next part begins. Absent: the scan is complete. */
export interface ScanPart<T> {
  readonly items: readonly T[];
  readonly before?: number;
}

export interface DeliveryQuery {
  readonly consumerId?: string;
  readonly state?: FinalState | "pending";
  /** A substring of the reason. */
  readonly error?: string;
  readonly fromMs?: number;
  readonly toMs?: number;
}

/**
 * Durable cursors over the log, with the outcomes, attempts and retries of each consumer.
 *
 * Every method rejects with a `StoreError`: `storage_unavailable` when the store cannot be used, and then nothing of the call was
 * kept; `data_damaged` when stored data cannot be read; `not_found` for an unknown consumer, except where a method says otherwise.
 */
export interface Consumers {
  /**
   * Converts the times of retries that an earlier process stored to this process's clock, of which `nowMs` is a monotonic reading
   * (see `carryOver`), and ends all leases. Call it once, before you open a consumer. Resolves when it is synced.
   */
  resumeRetries(nowMs: number): Promise<void>;
  /**
   * Resolves with the consumer's state. A consumer that does not exist is created, with its cursor at `startAfter`. Ends the leases of one
   * that exists: whoever opened it before is gone.
   */
  open(consumerId: string, startAfter: Offset): Promise<ConsumerState>;
  /**
   * Stores a settlement. Resolves when it is synced to disk, with the retries that were left out: their messages were removed while they
   * were sent.
   */
  settle(consumerId: string, settlement: Settlement): Promise<readonly Offset[]>;
  /**
   * Resolves with retries that are due, earliest first, at most `limit`. They are leased until `leaseUntilMs`: no other call returns
   * them before, unless they are stored again. Both times are monotonic readings. A lease ends with the process.
   *
   * With `storedUntilMs`, leases retries that are not due too: those with attempts that were stored until then, and whose
   * `notBeforeMs` has passed.
   */
  lease(
    consumerId: string,
    nowMs: number,
    leaseUntilMs: number,
    limit: number,
    storedUntilMs?: number,
  ): Promise<readonly Retry[]>;
  /** The earliest due time of the retries that are not leased, as a monotonic reading; undefined if there is none. */
  nextDueMs(consumerId: string): Promise<number | undefined>;
  /** The first retries of a lane, in the order of the log, at most `limit`. Leased ones too. */
  inLane(consumerId: string, lane: number, limit: number): Promise<readonly Retry[]>;
  /** The lanes after `after` (default: from the first), ascending, at most `limit`. */
  lanes(consumerId: string, limit: number, after?: number): Promise<readonly Lane[]>;
  /** The retries of messages after `after` that are in no lane and are no replays, in the order of the log, at most `limit`. */
  withoutLane(consumerId: string, after: Offset, limit: number): Promise<readonly Retry[]>;
  /** Stores retries without moving the cursor, for replays and "try now". They replace retries of the same messages. Synced. */
  requeue(consumerId: string, retries: readonly Retry[]): Promise<void>;
  /**
   * Makes these messages due at `dueAtMs`, a monotonic reading. A waiting retry keeps its attempts and its first attempt; a message
   * that ended in one of `states` gets a new retry, as a replay. Leaves out all others. Resolves with the offsets that are queued. Synced.
   */
  retryNow(
    consumerId: string,
    offsets: readonly Offset[],
    options: { readonly dueAtMs: number; readonly states: readonly Delivery["state"][] },
  ): Promise<readonly Offset[]>;
  /**
   * The deliveries of one message, at most one per consumer, by consumer id; with `consumerId` only that consumer's. Empty for an
   * unknown offset.
   */
  outcomesOf(offset: Offset, consumerId?: string): Promise<readonly Delivery[]>;
  /** All attempts of one message at one consumer, oldest first. Empty for an unknown consumer. */
  attemptsOf(consumerId: string, offset: Offset): Promise<readonly Attempt[]>;
  /** Deliveries, newest message first. Without a `state`, those that failed or are pending. A bad cursor: `invalid_request`. */
  list(query: DeliveryQuery, page: PageRequest): Promise<Page<Delivery>>;
  /**
   * The deliveries of a consumer in these states, newest message first: those of one stretch of the log before `before` (default: the
   * end). Reads no messages and no attempts. Empty for an unknown consumer.
   */
  scan(
    consumerId: string,
    states: readonly Delivery["state"][],
    before?: number,
  ): Promise<ScanPart<ScannedDelivery>>;
  /** Counts the failed deliveries of a consumer, and the pending ones that were tried, as `scan` reads them. */
  tally(consumerId: string, before?: number): Promise<ScanPart<DeliveryTally>>;
  /** How many messages come after the stored cursor, and how many retries wait. */
  backlog(consumerId: string): Promise<{ readonly behind: number; readonly retries: number }>;
  /** Removes the consumer with everything stored for it. Resolves when that is synced. An unknown consumer is ignored. */
  remove(consumerId: string): Promise<void>;
}
