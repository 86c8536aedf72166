import type { IssueCode } from "@sluice/protocol";

/** Why a call's message was not taken: a code of the validator, or one of the SDK's own. */
export type RefusalReason =
  | IssueCode
  /** A cycle, or a getter or `toJSON` that throws. */
  | "not_serializable"
  /** `maxQueueSize` messages or `maxQueueBytes` bytes are held. */
  | "queue_full"
  /** `close()` has been called. */
  | "closed";

/** What a call answers: whether its message was taken, and under which id it can be found. */
export type Receipt =
  | { readonly accepted: true; readonly messageId: string }
  | { readonly accepted: false; readonly messageId: string; readonly reason: RefusalReason };

/** A message that will not arrive. */
export interface LostMessage {
  readonly messageId: string;
  /** The JSON that was, or would have been, sent; absent where none could be made or the queue was full. */
  readonly json?: string | undefined;
}

/** A message that the collector refused, and why. */
export interface RefusedMessage extends LostMessage {
  /** The collector's code, such as `event_not_defined`. */
  readonly reason: string;
  /** The collector's sentence. */
  readonly text: string;
}

/** What `onError` is told about; `code` says which. */
export type ErrorDetail =
  /** The call's message was not taken. Status -1. */
  | { readonly code: RefusalReason; readonly messages: readonly LostMessage[] }
  /** The server refused the whole request and would again. Its status. */
  | { readonly code: "request_rejected"; readonly messages: readonly LostMessage[] }
  /** The last of all attempts failed. The status of the last answer, or -1. */
  | {
      readonly code: "retries_exhausted";
      readonly attempts: number;
      readonly messages: readonly LostMessage[];
    }
  /** The server took the request and refused some of its messages. Status 200. */
  | { readonly code: "messages_refused"; readonly messages: readonly RefusedMessage[] }
  /** Time ran out in `close()` or at the end of the process. Status -1. */
  | { readonly code: "close_deadline" | "exit_deadline"; readonly messages: readonly LostMessage[] }
  /** The spool was full or could not be written. Status -1. */
  | { readonly code: "spool_failed"; readonly messages: readonly LostMessage[] }
  /** A file of the spool was cut off or overwritten; `messageId` is `""` where it cannot be read. Status -1. */
  | { readonly code: "spool_damaged"; readonly messages: readonly LostMessage[] };

/** `status` is the HTTP status or -1; `message` is one line, the server's text where there is one. */
export type OnError = (status: number, message: string, detail: ErrorDetail) => unknown;

/** What became of the messages that were queued or in flight when `flush()` was called. */
export interface FlushResult {
  /** Answered 2xx. */
  readonly delivered: number;
  /** Given up; `onError` was told. */
  readonly failed: number;
  /** Refused by the collector one by one; `onError` was told. */
  readonly refused: number;
  /** Kept on disk for later; present when a spool is configured. */
  readonly spooled?: number;
}

/** Counters since the client was made. Every message offered is in exactly one of them. */
export interface Stats {
  readonly delivered: number;
  readonly failed: number;
  /** Refused at the call or by the collector. */
  readonly refused: number;
  /** Held now, in flight included. */
  readonly queued: number;
  /** On disk now, what earlier processes left included; present when a spool is configured. */
  readonly spooled?: number;
}

/** One attempt to send a batch, as the event `request` tells it. */
export interface RequestReport {
  /** From 1. */
  readonly attempt: number;
  readonly messages: number;
  /** Size of the body before compression. */
  readonly bytes: number;
  /** The HTTP status, or -1 where no answer came. */
  readonly status: number;
  /** Why it failed, where it did. */
  readonly reason?: string | undefined;
  readonly durationMs: number;
}

/** The events of `on(name, listener)`. */
export interface AnalyticsEvents {
  /** A batch was answered 2xx: the messages that the collector did not refuse. */
  delivered: { readonly messageIds: readonly string[] };
  /** What `onError` is told of messages that were taken and then given up. */
  failed: { readonly status: number; readonly message: string; readonly detail: ErrorDetail };
  /** What `onError` is told of messages that were refused, at the call or by the collector. */
  refused: { readonly status: number; readonly message: string; readonly detail: ErrorDetail };
  /** One attempt ended, well or not. */
  request: RequestReport;
}
