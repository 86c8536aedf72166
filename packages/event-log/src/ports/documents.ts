export interface PageRequest {
  /** At most this many items. */
  readonly limit: number;
  /** The `nextCursor` of the previous page. Absent: the first page. */
  readonly cursor?: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

export interface UsageDay {
  /** `2026-11-21`, UTC. */
  readonly day: string;
  readonly accepted: number;
  readonly filtered: number;
  readonly delivered: number;
}

/** Counts of messages per source and UTC day, updated in the transactions that append and settle. */
export interface UsageCounters {
  /** Newest day first, at most 90. Rejects with a `StoreError`: `storage_unavailable` or `data_damaged`. */
  days(sourceId: string): Promise<readonly UsageDay[]>;
}

/**
 * The kinds of documents in the `ConfigStore`, listed in one place so that no two parts use the same kind. The part that writes a
 * document defines its shape.
 */
export const DOCUMENT_KINDS = {
  source: "source",
  destination: "destination",
  token: "token",
  catchUp: "catch_up",
  sourcePlan: "source_plan",
  eventCatalog: "event_catalog",
  incident: "incident",
  suppression: "suppression",
  transformation: "transformation",
  transformationVersion: "transformation_version",
} as const;

/** The documents by which messages are admitted. What was admitted by former ones is not stored once a change is answered. */
export const ADMISSION_KINDS: ReadonlySet<string> = new Set([
  DOCUMENT_KINDS.source,
  DOCUMENT_KINDS.sourcePlan,
  DOCUMENT_KINDS.suppression,
]);

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
