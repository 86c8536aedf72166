import type { RejectedMessage } from "@sluice/protocol";
import type { RefusalReason } from "../message/accept.js";
import type { Batch, LostMessage } from "../message/batch.js";
import type { QueueBound } from "../queue/queue-limits.js";
import type { RequestReport } from "../sending/http-sender.js";

/** The reasons for a refusal, except for a full queue. */
type OtherReason = Exclude<RefusalReason, "queue_full">;

/** Why a call's message was not accepted. `bound` is the option that bounds the queue, and `text` is one line. */
export type Refusal =
  | { readonly reason: "queue_full"; readonly bound: QueueBound; readonly text: string }
  | { readonly reason: OtherReason; readonly text: string };

/** The result of a call: whether its message was accepted, and its id. `bound` is the option that bounds the queue. */
export type Receipt =
  | { readonly accepted: true; readonly messageId: string }
  | {
      readonly accepted: false;
      readonly messageId: string;
      readonly reason: "queue_full";
      readonly bound: QueueBound;
    }
  | {
      readonly accepted: false;
      readonly messageId: string;
      readonly reason: OtherReason | WithheldReason;
      readonly bound?: undefined;
    };

/**
 * Why a message was not queued although nothing is wrong with it. It is neither refused nor delivered, and `onError` is not called.
 *
 * - `"dropped"`: a `beforeSend` function returned null.
 * - `"disabled"`: the client is disabled by the option `disable` or by `setEnabled(false)`.
 */
export type WithheldReason = "dropped" | "disabled";

/** A message that the collector refused, with the reason. */
export interface RefusedMessage extends LostMessage {
  /** The collector's error code, such as `event_not_defined`. */
  readonly reason: string;
  /** The collector's error message. */
  readonly text: string;
}

/** The third argument of `onError`: which messages were lost, and why. */
export type ErrorDetail =
  /** The call's message was not accepted. Status -1. */
  | { readonly code: OtherReason; readonly messages: readonly LostMessage[] }
  /** The queue was full. `bound` is the option that bounds it. Status -1. */
  | {
      readonly code: "queue_full";
      readonly bound: QueueBound;
      readonly messages: readonly LostMessage[];
    }
  /** The server refused the whole request, and a retry would not help. The server's status. */
  | { readonly code: "request_rejected"; readonly messages: readonly LostMessage[] }
  /** All attempts failed. The status of the last answer, or -1. */
  | {
      readonly code: "retries_exhausted";
      readonly attempts: number;
      readonly messages: readonly LostMessage[];
    }
  /** The server accepted the request but refused some of its messages. Status 200. */
  | { readonly code: "messages_refused"; readonly messages: readonly RefusedMessage[] }
  /** The deadline of `close()` or of the ending process passed. Status -1. */
  | { readonly code: "close_deadline" | "exit_deadline"; readonly messages: readonly LostMessage[] }
  /** You called `setEnabled(false, { discardQueued: true })`. Status -1. */
  | { readonly code: "discarded"; readonly messages: readonly LostMessage[] }
  /** The spool was full or could not be written. Status -1. */
  | { readonly code: "spool_failed"; readonly messages: readonly LostMessage[] }
  /** A spool file was truncated or overwritten. `messageId` is `""` if it cannot be read. Status -1. */
  | { readonly code: "spool_damaged"; readonly messages: readonly LostMessage[] };

/** `status` is the HTTP status or -1. `message` is one line: the server's text if there is one. */
export type OnError = (status: number, message: string, detail: ErrorDetail) => unknown;

/** How the messages ended that were queued or in flight when `flush()` was called. `stats()` counts everything since the start. */
export interface FlushResult {
  /** Answered with 2xx. */
  readonly delivered: number;
  /** Given up. `onError` was called. */
  readonly failed: number;
  /**
   * Refused individually by the collector. `onError` was called. Without calls that were refused at once: their receipt said so. Of
   * `close()`: everything that was refused since the client was created, calls included, as in `stats()`.
   */
  readonly refused: number;
  /** Kept on disk, to be sent later. Present if a spool is configured. */
  readonly spooled?: number;
  /** Not ended when the time was over: still queued or in flight. Present if `flush()` had a `timeoutMs`. */
  readonly queued?: number;
}

/** Counters since the client was created. Every call is in exactly one of delivered, failed, refused, queued and spooled. */
export interface Stats {
  readonly delivered: number;
  readonly failed: number;
  /** Refused at the call or by the collector. */
  readonly refused: number;
  /** In memory now: queued or in flight. */
  readonly queued: number;
  /** Bytes of JSON in memory now. */
  readonly queuedBytes: number;
  /** The most messages that were in memory at once. Compare it with `maxQueueSize`. */
  readonly peakQueued: number;
  /** The most bytes of JSON that were in memory at once. Compare it with `maxQueueBytes`. */
  readonly peakQueuedBytes: number;
  /** On disk now, including messages of earlier processes. Present if a spool is configured. */
  readonly spooled?: number;
  /** Dropped by `beforeSend`. Present if it is configured. */
  readonly dropped?: number;
  /** Calls while the client was disabled. Present if it was ever disabled. */
  readonly disabled?: number;
}

/** The events of `on(name, listener)`. */
export interface AnalyticsEvents {
  /** A batch was answered with 2xx: the messages that the collector did not refuse. */
  delivered: { readonly messageIds: readonly string[] };
  /** Messages were accepted and then given up. The same data as for `onError`. */
  failed: { readonly status: number; readonly message: string; readonly detail: ErrorDetail };
  /** Messages were refused at the call or by the collector. The same data as for `onError`. */
  refused: { readonly status: number; readonly message: string; readonly detail: ErrorDetail };
  /** One attempt ended, successfully or not. */
  request: RequestReport;
}

/** Counts how many of the first `count` messages of a batch were refused. Each message counts once. */
export function refusedAmong(rejected: readonly RejectedMessage[], count: number): number {
  if (rejected.length === 0) return 0;
  const indexes = new Set<number>();
  for (const { index } of rejected) {
    if (index >= 0 && index < count) indexes.add(index);
  }
  return indexes.size;
}

/** The messages of a batch that the collector refused, with its reasons, by their index in the batch. */
export function refusedOf(
  batch: Batch,
  rejected: readonly RejectedMessage[],
): ReadonlyMap<number, RefusedMessage> {
  const refused = new Map<number, RefusedMessage>();
  for (const { index, code, message } of rejected) {
    const held = batch[index];
    if (!held || refused.has(index)) continue;
    const { messageId, json } = held;
    refused.set(index, { messageId, json, reason: String(code ?? "unknown"), text: String(message ?? "") });
  }
  return refused;
}
