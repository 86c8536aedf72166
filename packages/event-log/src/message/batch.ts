import type { MessageKind, UncheckedMessage } from "@sluice/protocol";
import type { Offset } from "./offset.js";

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
