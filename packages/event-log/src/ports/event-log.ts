import type { NewBatch, Offset, StoredBatch, StoredMessage } from "../message/batch.js";
import type { Identity } from "../message/identity.js";
import type { FinalState } from "./consumers.js";
import type { Page, PageRequest } from "./documents.js";

export interface AppendResult {
  /** Indexes in the body of messages whose (source, messageId) was received before, within the dedupe window. */
  readonly duplicates: readonly number[];
  /** The offset of the item at index 0. Absent if there were duplicates, or no messages. */
  readonly first?: Offset;
  /** The documents by which the batch was admitted have changed meanwhile, and nothing of it was stored: admit it again. */
  readonly isHandedBack?: true;
}

/** A message must match every field that is given. */
export interface MessageQuery {
  readonly messageId?: string;
  readonly sourceId?: string;
  /** The message's `userId`, or its `anonymousId` if it has no `userId`. */
  readonly userId?: string;
  /** The same, but only an id of this kind. */
  readonly identity?: Identity;
  readonly type?: string;
  /** The event of a track message. */
  readonly event?: string;
  /** Time of receipt, inclusive. */
  readonly fromMs?: number;
  /** Time of receipt, exclusive. */
  readonly toMs?: number;
  /** A substring of the message's JSON, ignoring case. */
  readonly text?: string;
  /** The message has this outcome at one consumer or more; see `Consumers.outcomesOf`. */
  readonly outcome?: FinalState;
}

/** How many messages a stretch of the log has. */
export interface LogTally {
  /** The last offset of the stretch. */
  readonly upTo: Offset;
  /** By source, and by the destinations that its batch is limited to. */
  readonly counts: readonly (Pick<StoredBatch, "sourceId" | "onlyDestinations"> & {
    readonly messages: number;
  })[];
}

/**
 * The durable log of messages.
 *
 * Every asynchronous method rejects with a `StoreError`: `storage_unavailable` when the store cannot be used, and then nothing of the
 * call was kept; `data_damaged` when what the call asks for cannot be read, while everything else goes on.
 */
export interface EventLog {
  /**
   * Resolves when the batch and its dedupe marks are synced to disk in one transaction. Only then may a client get a 200. Batches that
   * arrive during a commit share the next one. Duplicates, within the batch too, are skipped and returned; a batch without new messages
   * is not stored. Rejects with `payload_too_large` for more items than a segment can hold.
   */
  append(batch: NewBatch): Promise<AppendResult>;
  /**
   * Resolves with whole, synced batches in order, starting with the one that holds the first message after `after`: at least one if
   * there is any, then as many as fit in both limits.
   */
  read(
    after: Offset,
    max: { readonly messages: number; readonly bytes: number },
  ): Promise<readonly StoredBatch[]>;
  /** Counts the messages after `after`, in a stretch that ends at `upTo` or earlier. Reads no bodies. */
  tally(after: Offset, upTo: Offset): Promise<LogTally>;
  /** The offset of the last synced message; `BEFORE_FIRST` for an empty log. */
  head(): Offset;
  /** Calls `listener` after each commit that added messages. Returns an unsubscribe function. */
  onAppend(listener: () => void): () => void;
  /**
   * Matching messages, newest first. A page with a `nextCursor` may have fewer messages than `limit`, even none: a long search
   * continues with the next page. A bad cursor: `invalid_request`.
   */
  find(query: MessageQuery, page: PageRequest): Promise<Page<StoredMessage>>;
  /** The message at an offset; undefined if there is none, or if it was purged or dropped by retention. */
  get(offset: Offset): Promise<StoredMessage | undefined>;
}
