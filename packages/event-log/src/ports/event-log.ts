import type { NewBatch, StoredBatch, StoredMessage } from "../message/batch.js";
import type { Identity } from "../message/identity.js";
import type { Offset } from "../message/offset.js";
import type { FinalState } from "./consumers.js";
import type { Page, PageRequest } from "./page.js";

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
