import type { FlushResult, Stats } from "@sluice/core";
import { BEFORE_FIRST, type NewBatch, type Offset, type StoredMessage } from "@sluice/event-log";
import { endOf, messagesIn } from "../model/stored-messages.js";

/**
 * What outside observers saw. Invariants compare it with what the product stored. Times are true times since the world began, in
 * milliseconds, unless they say otherwise.
 */

/** A message that an application gave to an SDK. */
export interface Call {
  readonly sdk: string;
  /** Which run of the application, from 1. */
  readonly run: number;
  readonly messageId: string;
  readonly accepted: boolean;
  /** Why it was not accepted. */
  readonly reason?: string;
  readonly atMs: number;
}

/** What the application's `beforeSend` does with a message. One that takes too long throws, for the SDK. */
export type HookFate = "keeps" | "drops" | "throws";

/** A call of the SDK that returns a promise. */
export interface SdkWait {
  readonly sdk: string;
  readonly run: number;
  readonly what: "flush" | "ready" | "close";
  readonly timeoutMs: number | undefined;
  readonly calledAtMs: number;
  /** Messages that it had accepted and not reported. */
  readonly held: number;
  /** Absent: its promise did not resolve. */
  endedAtMs?: number;
  heldAtEnd?: number;
  /** Of the messages that were held at the call. */
  leftAtEnd?: number;
  /** It was disabled then. */
  isOff?: boolean;
  result?: FlushResult;
}

/** An answer that asked an SDK to wait. */
export interface SdkRefusal {
  readonly sdk: string;
  readonly run: number;
  readonly atMs: number;
  readonly status: number;
  readonly waitMs: number;
  readonly messageIds: readonly string[];
}

/** An application told the SDK to discard what it holds. */
export interface SdkDiscard {
  readonly sdk: string;
  readonly run: number;
  readonly atMs: number;
  /** How many calls there had been. */
  readonly calls: number;
  readonly messageIds: ReadonlySet<string>;
}

/** A report of an SDK about a message that it had accepted. */
export interface SdkReport {
  readonly sdk: string;
  readonly run: number;
  readonly messageId: string;
  readonly kind: "delivered" | "failed" | "refused";
  /** Why. */
  readonly code?: string;
  readonly atMs: number;
}

/** A message in a request that an SDK made. */
export interface SdkSend {
  readonly sdk: string;
  readonly run: number;
  readonly messageId: string;
  readonly atMs: number;
  /** It is as `beforeSend` returned it. */
  readonly isHooked: boolean;
}

/** A 200 that the collector gave, whether or not it arrived. */
export interface Acknowledgement {
  readonly sourceId: string;
  /** When the collector got the request. */
  readonly askedMs: number;
  readonly atMs: number;
  /** The collector's process, from 1. */
  readonly run: number;
  readonly messageIds: readonly string[];
  readonly duplicates: number;
}

/** One request to a webhook. */
export interface Post {
  readonly url: string;
  readonly messageId: string;
  readonly attempt: number;
  readonly run: number;
  /** How many of the collector's threads had died. */
  readonly deaths: number;
  readonly atMs: number;
  /** By the collector's monotonic clock. */
  readonly monotonicMs: number;
  /** When the receiver had it. Absent: it never did. */
  arrivedAtMs?: number;
  /** The receiver took it. */
  accepted?: boolean;
  /** How it ended for the collector. Absent: it did not end, because the collector crashed. */
  ended?: { readonly atMs: number; readonly what: string; readonly retryAfter?: string | undefined };
}

/** A message in a transformation's function. */
export interface Transformed {
  readonly id: string;
  readonly version: number;
  readonly messageId: string;
  /** What came out. */
  readonly kind: string | undefined;
  readonly run: number;
  readonly atMs: number;
}

/** An outcome that reached the disk. */
export interface StoredOutcome {
  readonly state: string;
  readonly atMs: number;
}

/** What reached the disk about deliveries. A crash loses the results of the last moments: for the product they are as if they had not been. */
export class StoredDeliveries {
  readonly #firstRetries = new Map<string, number>();
  readonly #replays = new Map<string, number[]>();
  readonly #hurried = new Map<string, number[]>();
  readonly #outcomes = new Map<string, StoredOutcome[]>();
  readonly #done = new Map<string, number>();
  readonly #retries = new Map<string, number[]>();

  addRetry(destinationId: string, offset: number, run: number, atMs: number): void {
    this.#retries.set(`${destinationId} ${offset}`, [...this.retriesOf(destinationId, offset), atMs]);
    const key = `${destinationId} ${offset} ${this.replaysOf(destinationId, offset).length}`;
    if (!this.#firstRetries.has(key)) this.#firstRetries.set(key, run);
  }

  /** When it was stored that a message is to be tried again. */
  retriesOf(destinationId: string, offset: number): readonly number[] {
    return this.#retries.get(`${destinationId} ${offset}`) ?? [];
  }

  /** The run of the collector that stored the first retry of a message, after so many replays: in it the retry window began. */
  runOfFirstRetry(destinationId: string, offset: number, replays: number): number | undefined {
    return this.#firstRetries.get(`${destinationId} ${offset} ${replays}`);
  }

  addOutcome(destinationId: string, offset: number, outcome: StoredOutcome): void {
    const key = `${destinationId} ${offset}`;
    this.#outcomes.set(key, [...this.outcomesOf(destinationId, offset), outcome]);
  }

  outcomesOf(destinationId: string, offset: number): readonly StoredOutcome[] {
    return this.#outcomes.get(`${destinationId} ${offset}`) ?? [];
  }

  /** Somebody sent a message again, or a waiting one at once. */
  addRequeue(destinationId: string, offset: number, atMs: number): void {
    const key = `${destinationId} ${offset}`;
    const replays = this.replaysOf(destinationId, offset);
    if (this.outcomesOf(destinationId, offset).length > replays.length)
      this.#replays.set(key, [...replays, atMs]);
    else this.#hurried.set(key, [...this.hurriedOf(destinationId, offset), atMs]);
  }

  /** When a message that had ended was to be sent again. */
  replaysOf(destinationId: string, offset: number): readonly number[] {
    return this.#replays.get(`${destinationId} ${offset}`) ?? [];
  }

  /** When a waiting message was to be sent at once. */
  hurriedOf(destinationId: string, offset: number): readonly number[] {
    return this.#hurried.get(`${destinationId} ${offset}`) ?? [];
  }

  addDone(destinationId: string, offset: number, url: string, atMs: number): void {
    const key = `${destinationId} ${offset} ${this.replaysOf(destinationId, offset).length} ${url}`;
    if (!this.#done.has(key)) this.#done.set(key, atMs);
  }

  /** When it was stored that a URL needs no further attempt at a message, after so many replays. */
  doneAtMs(destinationId: string, offset: number, url: string, replays: number): number | undefined {
    return this.#done.get(`${destinationId} ${offset} ${replays} ${url}`);
  }
}

/** The messages that were stored, also those that retention has dropped since. */
export class AppendedMessages {
  readonly messages: { readonly message: StoredMessage; readonly atMs: number }[] = [];
  #end: Offset = BEFORE_FIRST;

  add({ keys, ...batch }: NewBatch, duplicates: readonly number[], atMs: number): void {
    if (duplicates.length === keys.length) return;
    const skipped = [...batch.skipped, ...duplicates].sort((a, b) => a - b);
    // A purge may overwrite the bytes.
    const stored = { ...batch, body: new Uint8Array(batch.body), skipped };
    const first = this.#end + 1;
    this.#end = endOf(stored, first);
    this.messages.push(...messagesIn(stored, first).map((message) => ({ message, atMs })));
  }
}

/** A process of the collector. */
export interface CollectorRun {
  /** The machine of a cluster. */
  readonly node?: string;
  readonly startedAtMs: number;
  /** When it took requests. */
  readyAtMs?: number;
  /** Its first monotonic reading. */
  readonly startedMonotonicMs: number;
  ended?: { readonly atMs: number; readonly monotonicMs: number; readonly how: "crash" | "stop" };
  /** It ended because another process of the cluster took over. It may not know that yet. */
  wasReplaced?: boolean;
}

/** What a process held at most, at any moment. */
export interface Peak {
  readonly process: string;
  readonly what: "timers" | "messages that nothing was reported about" | "messages by its own count";
  readonly most: number;
  /** So many more than usual are right: of timers, those of calls with a time limit. */
  readonly allowed?: number;
}

/** The messages a second that a source may send, while this was certainly in force. */
export interface SourceLimit {
  readonly sourceId: string;
  readonly perSecond: number;
  readonly fromMs: number;
  untilMs: number;
}

export interface History {
  readonly calls: Call[];
  readonly reports: SdkReport[];
  readonly acknowledgements: Acknowledgement[];
  readonly posts: Post[];
  /** Requests that a process sent after another one had replaced it. */
  readonly postsOfReplaced: Post[];
  readonly transformed: Transformed[];
  readonly stored: StoredDeliveries;
  /** Filled with the embedded store only. */
  readonly appended: AppendedMessages;
  readonly runs: CollectorRun[];
  /** When threads of the collector died. */
  readonly deaths: number[];
  /** The bytes of all that was appended to the log, as text, and when. */
  readonly written: { readonly text: string; readonly atMs: number }[];
  /** From when on the plan of a source certainly refused an event, until one of its `ends`. */
  readonly refusing: { readonly sourceId: string; readonly fromMs: number }[];
  /** When a plan is, or was, to be taken back. */
  readonly ends: { readonly sourceId: string; readonly atMs: number; readonly isDone: boolean }[];
  /** What was passed to the SDK for each message, by its id. */
  readonly fields: Map<string, Readonly<Record<string, unknown>>>;
  /** What `beforeSend` did with each message. */
  readonly hooks: Map<string, HookFate>;
  readonly sends: SdkSend[];
  readonly waits: SdkWait[];
  readonly refusals: SdkRefusal[];
  readonly discards: SdkDiscard[];
  /** Messages that a spool said it had kept. */
  readonly kept: Map<string, { readonly run: number; readonly atMs: number }>;
  readonly powerCuts: { readonly sdk: string; readonly atMs: number }[];
  /** Deletions that the collector accepted. */
  readonly deletions: {
    readonly id: string;
    /** `u:ann` or `a:tablet`. */
    readonly identity: string;
    readonly requestedAtMs: number;
    readonly answeredAtMs: number;
  }[];
  /** When data of users was purged from the store. */
  readonly purges: { readonly identities: readonly string[]; readonly atMs: number }[];
  /** Whose messages an administrator wanted to suppress. */
  readonly suppressed: Set<string>;
  /** Limits that administrators set on sources. */
  readonly limits: SourceLimit[];
  /** Sources that an administrator told to block an event. */
  readonly blocking: Set<string>;
  /** The runs of applications that ended with `close()`: name and number, and what they counted. */
  readonly closed: Map<string, Stats>;
  /** Those that ended with `process.exit()`. */
  readonly exited: Set<string>;
  /** What each process held at most. */
  readonly peaks: Peak[];
  /** Errors that the product logged. */
  readonly errors: string[];
}

export function newHistory(): History {
  return {
    calls: [],
    reports: [],
    acknowledgements: [],
    posts: [],
    postsOfReplaced: [],
    transformed: [],
    stored: new StoredDeliveries(),
    appended: new AppendedMessages(),
    runs: [],
    deaths: [],
    written: [],
    refusing: [],
    ends: [],
    fields: new Map(),
    hooks: new Map(),
    sends: [],
    waits: [],
    refusals: [],
    discards: [],
    kept: new Map(),
    powerCuts: [],
    deletions: [],
    purges: [],
    suppressed: new Set(),
    limits: [],
    blocking: new Set(),
    closed: new Map(),
    exited: new Set(),
    peaks: [],
    errors: [],
  };
}
