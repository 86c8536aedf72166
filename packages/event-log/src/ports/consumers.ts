import type { Offset } from "../message/offset.js";
import type { Page, PageRequest } from "./page.js";

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
