/**
 * What a replicated store needs of an engine that replicates: a log with fencing, leases, and a place for snapshots. NATS JetStream is
 * one such engine (`jetstream/`); another one is another folder. All of it belongs to one cluster, whose name the engine was opened with.
 *
 * No method throws for what a network can do: those that answer with a union say how the call ended; the others reject with
 * `EngineUnavailable`, and nothing is known about their effect.
 */
export interface ReplicationEngine {
  readonly log: ReplicatedLog;
  readonly leases: Leases;
  readonly snapshots: SnapshotStorage;
  /** Whether the engine can be reached, as far as is known now. Free to call. */
  health(): EngineHealth;
  /** Calls `listener` after each change of `health`. Returns an unsubscribe function. */
  onHealth(listener: () => void): () => void;
  close(): Promise<void>;
}

export type EngineHealth =
  | { readonly kind: "connected" }
  | { readonly kind: "disconnected"; readonly reason: string; readonly sinceMs: number };

/** An entry of the log. Sequences ascend from 1, without gaps. */
export interface LogEntry {
  readonly sequence: number;
  readonly data: Uint8Array<ArrayBuffer>;
}

/** How an append ended. */
export type LogAppend =
  /** It is synced on a majority, at this sequence. */
  | { readonly kind: "appended"; readonly sequence: number }
  /** It is not in the log and never will be: the log's last sequence was another one. */
  | { readonly kind: "refused"; readonly last: number | undefined }
  /** It is not in the log and never will be: there is no room, or the entry is too large. */
  | { readonly kind: "impossible"; readonly reason: string }
  /** There was no answer. It may be in the log, now or later. Append the same entry with the same expectation until the answer is known. */
  | { readonly kind: "unknown"; readonly reason: string };

/** One replicated log. An entry that was answered with `appended` survives the loss of any minority of the engine's servers. */
export interface ReplicatedLog {
  /** Bytes of an entry at most. */
  readonly maxEntryBytes: number;
  /**
   * Appends an entry if `expectedLast` is the sequence of the log's last entry (0 for an empty log); this is the fence. Several appends
   * may be under way, each of which expects the sequence that the one before it will get.
   */
  append(data: Uint8Array, expectedLast: number): Promise<LogAppend>;
  /** The sequences of the first entry that is kept and of the last one. For an empty log, `first` is `last + 1`. */
  bounds(): Promise<{ readonly first: number; readonly last: number }>;
  /**
   * The entries after `after` in order, each exactly once, then those that are added, until `signal` aborts. Survives reconnects. Throws
   * `EntriesTrimmed` if the log no longer has them: a snapshot has to be loaded first.
   */
  read(after: number, signal: AbortSignal): AsyncIterable<LogEntry>;
  /** Removes the entries up to and including this sequence. Sequences go on. */
  trim(upTo: number): Promise<void>;
}

/** A value that one process may hold. `revision` ascends with each change. */
export interface LeaseRecord {
  readonly revision: number;
  readonly value: string;
}

/**
 * Small values that change by compare-and-set. A holder writes its value again and again; another process may take the lease when it has
 * seen the same revision for the whole lease time by its own monotonic clock. A lease only decides who tries: the log's fence protects.
 */
export interface Leases {
  get(key: string): Promise<LeaseRecord | undefined>;
  /** All of them whose key begins with `prefix`. */
  list(prefix: string): Promise<readonly (LeaseRecord & { readonly key: string })[]>;
  /** Writes `value` if the revision is still `expected` (undefined: there is no such key). Resolves with the new revision, or undefined. */
  put(key: string, value: string, expected: number | undefined): Promise<number | undefined>;
  /** Removes the key if its revision is still `expected`. Resolves with whether it did. */
  remove(key: string, expected: number): Promise<boolean>;
  /** Calls `listener` with the present value of each key with this prefix, and after each change (undefined: removed), until `signal` aborts. */
  watch(
    prefix: string,
    listener: (key: string, record: LeaseRecord | undefined) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

/** A named blob. */
export interface SnapshotRecord {
  readonly name: string;
  readonly bytes: number;
  /** As it was given to `put`. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Blobs that are replicated as the log is. A blob is there whole or not at all. */
export interface SnapshotStorage {
  put(
    name: string,
    metadata: Readonly<Record<string, string>>,
    parts: AsyncIterable<Uint8Array>,
  ): Promise<SnapshotRecord>;
  /** Its bytes, checked against their digest; undefined if there is no such blob. Reading them throws `SnapshotDamaged`. */
  get(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  list(): Promise<readonly SnapshotRecord[]>;
  remove(name: string): Promise<void>;
  /** Removes what was uploaded and is no blob: by calls of `put` that were cut off, and by those under way, which then reject. */
  removeUnfinished(): Promise<void>;
}

/** The engine cannot be reached, or did not answer. The effect of the call is unknown. */
export class EngineUnavailable extends Error {
  override readonly name = "EngineUnavailable";
}

/** A blob does not have the bytes that were stored, or was removed while it was read. */
export class SnapshotDamaged extends Error {
  override readonly name = "SnapshotDamaged";
}

/** Entries that were asked for are no longer in the log. */
export class EntriesTrimmed extends Error {
  override readonly name = "EntriesTrimmed";
  readonly first: number;

  constructor(first: number) {
    super(`the log begins at entry ${first}`);
    this.first = first;
  }
}
