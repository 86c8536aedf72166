import type { Attempt } from "@sluice/event-log";
import type { OutboundKind } from "@sluice/protocol";
import type { SourceKind, TransformationDocument } from "../documents/documents.js";

/**
 * The interface of all destination types. The catalog lists the types. A `Destination` is an instance of a type, opened
 * with its settings. CONTRIBUTING.md explains how to add a type.
 */
export interface DestinationType {
  /** The value of `type` in the control API, such as `webhooks`. */
  readonly type: string;
  /** The public name, as used in `integrations`. Case-sensitive. */
  readonly name: string;
  /** One sentence about what it does. */
  readonly description?: string;
  /** The `d` of an SVG path on a grid of 16 × 16. */
  readonly icon?: string;
  readonly mode: "cloud";
  /** The source kinds that it supports. */
  readonly sources: readonly SourceKind[];
  /** Whether it accepts historical messages. If not, `limitMs` is the maximum age of a message, in milliseconds. */
  readonly historical: { readonly accepted: true } | { readonly accepted: false; readonly limitMs: number };
  /** What deleting a user does: it sends a `delete` message, it makes the type erase the user by a `delete` message, or nothing. */
  readonly takesDeletions: "message" | "erase" | "none";
  /** JSON Schema of the settings that a client sends. */
  readonly settingsSchema: object;
  /**
   * Merges a client's settings into the stored ones (`null` removes a key), validates them, and returns the settings to
   * store, with secrets sealed.
   */
  parseSettings(input: unknown, previous: unknown): Promise<SettingsResult>;
  /** Returns the stored settings for the control API, without secrets. */
  describe(settings: unknown): { readonly [name: string]: unknown };
  /** Opens a destination with its stored settings. Rejects with a readable message if it cannot work at all. */
  open(settings: unknown): Promise<Destination>;
  /** Returns the stored settings with a target disabled because it answered 410 Gone. */
  withoutTarget?(settings: unknown, target: string, reason: string, atMs: number): unknown;
  /** Returns the body of the requests that send a message, as these settings make it. Absent: it sends no requests. */
  requestBody?(settings: unknown, message: Pick<OutgoingMessage, "message" | "timestamp">): string;
  /** Returns the active and the disabled targets in the stored settings. */
  targets?(settings: unknown): Targets;
}

export interface Targets {
  readonly called: readonly string[];
  /** Those that answered 410 Gone, and when. */
  readonly disabled: readonly { readonly url: string; readonly atMs: number }[];
}

export type SettingsResult =
  | { readonly ok: true; readonly settings: unknown }
  | { readonly ok: false; readonly issues: readonly SettingsIssue[] };

export interface SettingsIssue {
  /** Path of the field, such as `settings.webhooks[1].url`. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

export interface Destination {
  /** How to schedule messages for this destination. */
  readonly flow: Flow;
  /** Delivers one message in one round. Never rejects: every result is a `RoundOutcome`. */
  deliver(message: OutgoingMessage, round: Round): Promise<RoundOutcome>;
  /** Present if it gathers messages, and so has to know what becomes of them. */
  readonly batches?: BatchControl;
  /** Aborts the rounds in flight (`aborted`) and releases all resources. */
  close(): Promise<void>;
}

export interface BatchControl {
  /** No further message starts before one of those in flight ends. */
  full(): void;
  /** What comes until `full` is sent together under this name, as it was before. `range`: the positions of its first and last message. */
  repeat(id: string, range: { readonly from: number; readonly to: number }): void;
  /** Nothing more comes: what was gathered is sent at once. */
  drain(): void;
}

export interface Flow {
  /** Maximum number of rounds in flight. */
  readonly concurrency: number;
  /** Maximum memory of their messages, in bytes. Default: 3 MB. */
  readonly maxBytes?: number;
  /** Maximum number of rounds started per second. Default: no limit. */
  readonly perSecond?: number;
  /** `user`: delivers each user's messages one at a time, in log order. */
  readonly order: "none" | "user";
}

export interface OutgoingMessage {
  readonly messageId: string;
  readonly sourceId: string;
  /** Validated and normalized. Shared between destinations, so do not change it. */
  readonly message: { readonly type: OutboundKind; readonly [field: string]: unknown };
  /** Timestamp of the message after clock correction: ISO 8601, UTC, with milliseconds. */
  readonly timestamp: string;
  readonly offset: number;
  readonly receivedAtMs: number;
}

/** The transformations that a message passes, in order, and how each was when the message was read. */
export interface Chain {
  readonly ids: readonly string[];
  readonly documents: readonly (TransformationDocument | undefined)[];
}

/** What messages are made with. Its JSON is stored. */
export interface MadeWith {
  chain(sourceId: string): Chain;
  toJSON(): unknown;
}

/** Messages that are sent together under a name. */
export interface SentTogether {
  readonly id: string;
  /** Ascending. */
  readonly offsets: readonly number[];
  readonly settings: MadeWith;
}

/** `nothing`: none was chosen. `postponed`: the destination was replaced, and its messages are decided anew. */
export type Fixed = "fixed" | "nothing" | "postponed";

export interface Round {
  /** Number of the round, from 1. The count survives restarts. */
  readonly number: number;
  /** Whether the message comes from the retry queue: it is out of the order of the log. */
  readonly isAgain: boolean;
  /** Number of the attempt at a target. Targets with their own retries are counted separately. */
  numberAt(url: string): number;
  /** Whether this is the last round in the retry window. A target that is skipped now is never tried again. */
  readonly isLast: boolean;
  /** Targets with their own retries that are not due yet. */
  readonly waitingUrls: readonly string[];
  /** Targets that are finished with this message: they accepted it or failed permanently. */
  readonly doneUrls: readonly string[];
  /** The URLs in `doneUrls` that failed permanently. */
  readonly failedUrls: readonly string[];
  /** A test message: the attempt shows what arrived. Default: false. */
  readonly isTest?: boolean;
  /**
   * Whether something changed since it began: the destination or what it gets, or the message's user was deleted. Ask before sending
   * what took time to prepare, and end as `postponed`. Absent: nothing changes.
   */
  isOutdated?(): boolean;
  /** What the message is made with. Messages that are sent together have the same. Absent: what is in force. */
  readonly settings?: MadeWith;
  /**
   * Stores what is sent together, before it is: if it fails as a whole, and after a crash, it comes again as it is now. `choose` is called
   * when everything that was sent before has ended. Absent: it need not be the same.
   */
  fix?(choose: () => SentTogether | undefined): Promise<Fixed>;
  /** Call it when an attempt starts. Returns the trace context to send. Absent, or undefined: the message belongs to no trace. */
  startTrace?(): AttemptTrace | undefined;
  /** Records an attempt in the trace. May be called after the round has ended. `trace`: from `startTrace`. */
  record(attempt: RoundAttempt, trace?: AttemptTrace): void;
  /**
   * The round goes on with another attempt, which has the next number. May only be called after every attempt so far has ended.
   */
  repeat(): void;
  /** Reports that a target answered 410 Gone and must not be called again. May be called after the round has ended. */
  gone(url: string): void;
}

/** One request (or write) of a round: a stored attempt without its position. All attempts at a URL share one `requestHeaders` object. */
export type RoundAttempt = Omit<Attempt, "offset" | "attempt" | "replay">;

/** The distributed trace that an attempt belongs to. */
export interface AttemptTrace {
  /** Names and values by turns. */
  readonly headers: readonly string[];
  /** The attempt's own span, if it is exported. */
  readonly spanId?: string;
}

/** The error code of an attempt that was only recorded: the round skipped the target. */
export const NOT_TRIED = "not_tried";

/** A target to try again. */
export interface TargetRetry {
  readonly url: string;
  /** False if the round skipped the target. A skipped target does not count as an attempt. */
  readonly tried: boolean;
  readonly retryAfterMs?: number | undefined;
}

/** `reason` is aggregated, so it must have few distinct values: statuses, codes and targets, but nothing specific to one message. */
export type RoundOutcome =
  | { readonly kind: "delivered"; readonly reason: string }
  | {
      readonly kind: "retry";
      readonly reason: string;
      /** The delay that the receiver asked for, from now. */
      readonly retryAfterMs?: number;
      readonly doneUrls: readonly string[];
      readonly failedUrls: readonly string[];
      /** Targets to retry separately: those that failed in this round with a retryable error. */
      readonly targets?: readonly TargetRetry[];
      /**
       * Whether the destination is reachable, which means that at least one target accepted the message. `unknown`: none
       * of the tried targets accepted it, but other targets were not tried.
       */
      readonly alive: boolean | "unknown";
    }
  | {
      readonly kind: "failed";
      readonly reason: string;
      /** Others would fail like it until somebody mends something: it counts like a failure of the whole destination. */
      readonly countsAgainst?: true;
    }
  /** A transformation dropped the message: nothing was sent. */
  | { readonly kind: "filtered"; readonly reason: string }
  /** Something changed before anything was sent: the message is decided anew. The round does not count. */
  | { readonly kind: "postponed" }
  /** The destination was closed during the round. The round does not count. */
  | { readonly kind: "aborted" };

/** How a round ended that counts. */
export type CountedOutcome = Exclude<RoundOutcome, { kind: "aborted" | "postponed" }>;
