import type { MessageKind, UncheckedMessage } from "@sluice/protocol";

/**
 * The index of a batch's last message; -1 if all items are skipped. The next batch's offsets begin right after it, so a batch never
 * ends in offsets that no consumer can reach.
 */
export function lastMessageIndex({
  itemCount,
  skipped,
}: {
  readonly itemCount: number;
  readonly skipped: ArrayLike<number>;
}): number {
  let last = itemCount - 1;
  for (let i = skipped.length - 1; i >= 0 && skipped[i] === last; i--) last -= 1;
  return last;
}

declare const offsetBrand: unique symbol;

/** A message's position in the log. Later messages have greater offsets, and there may be gaps. */
export type Offset = number & { readonly [offsetBrand]: true };

/** Before the first message of any log. */
export const BEFORE_FIRST = -1 as Offset;

/** The offset of the item at `index` of a batch whose first item has `first`. */
export function offsetAt(first: Offset, index: number): Offset {
  return (first + index) as Offset;
}

/**
 * One request's messages, in the bytes in which they arrived. The log is the only copy of a message. `decode-batch.ts` parses these
 * bytes; the byte scanners read parts of them without parsing.
 */
export interface BatchContent {
  readonly sourceId: string;
  readonly receivedAtMs: number;
  /** The request's JSON after inflating: an envelope with `batch`, or one message when `kind` is set or it has no `batch`. */
  readonly body: Uint8Array;
  /** The kind that the request's path named. */
  readonly kind?: MessageKind;
  /** The sender's address, if decoding fills it in as `context.ip`. */
  readonly ip?: string;
  /** How many items the body has, refused ones included. */
  readonly itemCount: number;
  /** Indexes of items that are not messages of the log: refused items and duplicates. Ascending. */
  readonly skipped: readonly number[];
  /** Ids that the collector assigned to items without one. */
  readonly madeIds: readonly (readonly [index: number, messageId: string])[];
  /**
   * If present: the collector made the batch (audiences, deletions) for these destinations only, connected or not. `integrations` and
   * filters do not apply.
   */
  readonly onlyDestinations?: readonly string[];
}

/** What the log indexes of a message, for search and dedupe. */
export interface MessageKey {
  readonly index: number;
  readonly messageId: string;
  /** The `userId`, or the `anonymousId` if there is none. */
  readonly userId: string;
  /** `userId` holds an `anonymousId`. */
  readonly isAnonymous?: true;
  readonly type: string;
  readonly event?: string;
}

export interface NewBatch extends BatchContent {
  /** One for each item that is not skipped, in ascending order of index. */
  readonly keys: readonly MessageKey[];
}

export interface StoredBatch extends BatchContent {
  /** The offset of the item at index 0; see `offsetAt`. */
  readonly first: Offset;
}

/** A decoded message: parsed, coerced, with its id. */
export interface StoredMessage {
  readonly offset: Offset;
  readonly sourceId: string;
  readonly receivedAtMs: number;
  readonly messageId: string;
  readonly message: UncheckedMessage;
  /** As in its batch. */
  readonly onlyDestinations?: readonly string[];
  /** Its batch said `"deliver": false`: only destinations that its own `integrations` name get it. */
  readonly isWithoutDelivery?: true;
}
