/** A document and its version, which each change increments. */
export interface Versioned<T> {
  readonly id: string;
  readonly version: number;
  readonly value: T;
}

export interface ConfigChange {
  readonly kind: string;
  readonly id: string;
  /** As stored now. Absent: deleted. */
  readonly document?: Versioned<unknown>;
}

/** Follows changes of documents; see `ConfigStore.watch`. */
export type ConfigListener = (change: ConfigChange) => Promise<void> | void;

/** One `put` of several. */
export interface DocumentPut {
  readonly kind: string;
  readonly id: string;
  readonly value: unknown;
  /** As in `ConfigStore.put`. */
  readonly expected?: number;
}

/**
 * Small JSON documents by kind (`source`, `destination`, `token`, …) and id. When the call that made a change resolves, the change is
 * synced to disk and every watcher in this process has applied it.
 *
 * Every method but `watch` rejects with a `StoreError`: `storage_unavailable` when the store cannot be used, and then nothing was
 * changed; `data_damaged` when a document cannot be read.
 */
export interface ConfigStore {
  /** Resolves with undefined if there is no such document. */
  get<T>(kind: string, id: string): Promise<Versioned<T> | undefined>;
  /** All documents of a kind, oldest first. */
  list<T>(kind: string): Promise<readonly Versioned<T>[]>;
  /**
   * Stores a document and resolves with it. With `expected`, only if that is the current version (0: it must not exist); otherwise
   * it rejects with `VersionConflict`.
   */
  put<T>(kind: string, id: string, value: T, expected?: number): Promise<Versioned<T>>;
  /** Stores several documents in one transaction. If one is not at its expected version, it stores none: `VersionConflict`. */
  putAll(puts: readonly DocumentPut[]): Promise<readonly Versioned<unknown>[]>;
  /** Resolves with whether the document existed. */
  delete(kind: string, id: string): Promise<boolean>;
  /**
   * Calls `listener` after each change, in the order of the changes. The call that made the change waits for the promise that the
   * listener returns, and ignores its rejection. A listener must not wait for another change of the same document. Returns an
   * unsubscribe function.
   */
  watch(listener: ConfigListener): () => void;
}
