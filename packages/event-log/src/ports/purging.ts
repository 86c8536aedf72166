import type { Identity } from "../message/identity.js";

/**
 * Which messages are taken out: all with a user id, all with an anonymous id and no user id, all of several such ids, or one by its
 * message id.
 */
export type PurgeQuery =
  | { readonly userId: string }
  | { readonly anonymousId: string }
  | {
      readonly identities: readonly Identity[];
      /** Those that are looked for in the text of refused messages that name no id. Default: all. */
      readonly sought?: readonly Identity[];
    }
  | { readonly sourceId: string; readonly messageId: string };

/** What was taken out. */
export interface Purged {
  readonly messages: number;
  /** Attempts whose contents were removed. */
  readonly attempts: number;
  readonly retries: number;
}

/** Taking users out of the store: what `deletions/` asks of it. */
export interface Purging {
  /**
   * Overwrites the messages in the log, with the contents of their attempts (answers, messages of errors, request headers), their
   * retries, and refused messages of the user. What other messages' attempts say stays as it is.
   * `find`, `read` and `get` do not show them any more; offsets stay as they are. Their ids stay known to dedupe, so that a client
   * that sends one again has sent a duplicate. Resolves when it is synced. Called again it takes out what is left. It goes as far as the
   * log did at the call: later messages stay. Rejects with `signal.reason` between two commits where `signal` aborts.
   */
  purge(query: PurgeQuery, signal?: AbortSignal): Promise<Purged>;
  /**
   * Resolves when what was purged (and documents that were replaced or deleted) is in no byte of the store's files. Works in
   * small steps between commits, after whatever else was to be done in the background.
   */
  compact(): Promise<void>;
}
