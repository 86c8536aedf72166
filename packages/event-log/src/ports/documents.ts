/** A document and its version, which grows by one with each change. */
export interface Versioned<T> {
  readonly id: string;
  readonly version: number;
  readonly value: T;
}

export interface ConfigChange {
  readonly kind: string;
  readonly id: string;
  /** As it is stored now. Absent: it was deleted. */
  readonly document?: Versioned<unknown>;
}

/** Follows changes of documents; see `ConfigStore.watch`. */
export type ConfigListener = (change: ConfigChange) => Promise<void> | void;

/** One `put` of several. */
export interface DocumentPut {
  readonly kind: string;
  readonly id: string;
  readonly value: unknown;
  readonly expected?: number;
}

/**
 * Small JSON documents by kind (`source`, `destination`, `token`, …) and id. A change is in force once the call that made it
 * resolves: it is synced by then, and everything in this process that watches it follows it.
 */
export interface ConfigStore {
  get<T>(kind: string, id: string): Promise<Versioned<T> | undefined>;
  /** All of a kind, oldest first. */
  list<T>(kind: string): Promise<readonly Versioned<T>[]>;
  /**
   * Stores a document and resolves with it when it is synced. With `expected`, only when that is the version now
   * (0: it must not exist); else rejects with `VersionConflict`.
   */
  put<T>(kind: string, id: string, value: T, expected?: number): Promise<Versioned<T>>;
  /** Several puts in one transaction: all of them, or, when a document is not at its expected version, none. */
  putAll(puts: readonly DocumentPut[]): Promise<readonly Versioned<unknown>[]>;
  delete(kind: string, id: string): Promise<boolean>;
  /**
   * Calls `listener` after each change, own changes included, in the order of the changes and before the call that made the change
   * resolves. That call also waits for the promise that the listener returns. A listener handles its own failures, and must not
   * wait for a change of the document that it is told of. Returns the function that ends it.
   */
  watch(listener: ConfigListener): () => void;
}
