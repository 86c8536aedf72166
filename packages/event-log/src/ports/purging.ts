import type { Identity } from "../message/identity.js";

/**
 * Which messages to purge: all of a user id; all of an anonymous id that have no user id; all of several such ids; or one by its
 * message id.
 */
export type PurgeQuery =
  | { readonly userId: string }
  | { readonly anonymousId: string }
  | {
      readonly identities: readonly Identity[];
      /** The ids to search for in the text of refused messages that name no id. Default: all. */
      readonly requested?: readonly Identity[];
    }
  | { readonly sourceId: string; readonly messageId: string };

/** How much was purged. */
export interface Purged {
  readonly messages: number;
  /** Attempts whose contents were removed. */
  readonly attempts: number;
  readonly retries: number;
}

/** Removes the data of users. Rejects with a `StoreError`, as the log does. */
export interface Purging {
  /**
   * Overwrites the messages in the log and the contents of their attempts (responses, error messages, request headers), and removes
   * their retries and the user's refused messages. Attempts of other messages stay as they are. Messages that arrive after the call
   * stay.
   *
   * `find`, `read` and `get` no longer return purged messages, and offsets do not change. Dedupe still knows their ids, so a client
   * that sends one again sends a duplicate. Resolves when everything is synced. Works in several commits; between two of them it
   * rejects with `signal.reason` if `signal` aborts. Call it again to purge the rest.
   */
  purge(query: PurgeQuery, signal?: AbortSignal): Promise<Purged>;
  /**
   * Resolves when no byte of purged messages, or of replaced and deleted documents, is left in the store's files. Works in small
   * steps between commits, after all other background work.
   */
  compact(): Promise<void>;
}
