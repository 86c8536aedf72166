import type { Clock } from "@sluice/resilience";
import type { ProfileStore } from "../ports/profiles.js";
import type { Store } from "../ports/store.js";
import type { RetentionOptions, StoreTuning } from "../sqlite/calls/tuning.js";
import type { StartStoreThread } from "../sqlite/client/start-worker.js";
import type { ReplicationEngine, SnapshotRecord } from "./engine.js";
import type { SnapshotAge } from "./snapshots/snapshot-schedule.js";

export interface ReplicaOptions {
  /** The data folder. The copy is the folder `copy` in it. */
  readonly directory: string;
  readonly engine: ReplicationEngine;
  readonly clock: Clock;
  /** The name of this process in the log. */
  readonly node: string;
  /** As in `SqliteStoreOptions`. The settings of the process that leads hold for all copies. */
  readonly dedupeWindowMs?: number;
  readonly retention?: RetentionOptions;
  readonly rejectionsKept?: number;
  readonly tuning?: Partial<StoreTuning>;
  /** Starts the thread that uses the copy. Default: a worker thread. Only the simulation replaces it. */
  readonly startThread?: StartStoreThread;
  /** A follower makes a snapshot when it has applied so many bytes of the log since the last one. Default: 64 MiB. */
  readonly snapshotEveryBytes?: number;
  /** Called for each damaged place of the copy, which is then replaced. */
  readonly onDamage?: (what: string) => void;
  /**
   * Called when something goes wrong that the replica tries again by itself. `againAfterMs`: the copy could not be replaced, and this is
   * how long the next try waits. That is reported for each try, everything else when it is new.
   */
  readonly onProblem?: (what: string, againAfterMs?: number) => void;
}

export type ReplicaRole =
  /** The copy is being opened, or replaced. */
  "loading" | "following" | "leading" | "closed";

export interface ReplicaStatus {
  readonly role: ReplicaRole;
  /** The sequence of the last entry that the copy contains. */
  readonly applied: number;
  /** The sequence of the log's last entry, as last seen. */
  readonly last: number;
  /** The newest snapshot, looked at once a minute. */
  readonly snapshot: SnapshotAge;
  /** Why the copy cannot go on at the moment. */
  readonly problem?: string;
}

/** One process's part of a replicated store: a copy that follows the log, and that can lead. */
export interface Replica {
  status(): ReplicaStatus;
  /** Calls `listener` after each change of the role, and from time to time after others. Returns an unsubscribe function. */
  onStatus(listener: () => void): () => void;
  /** Resolves when the copy contains everything that the log has now. Rejects when `signal` aborts. */
  caughtUp(signal: AbortSignal): Promise<void>;
  /**
   * Catches up, then appends a takeover entry with the fence: from then on, writes of earlier owners have no effect. Rejects with
   * `StorageUnavailable` if another process was faster, if the log is full, or when `signal` aborts; it then follows again.
   */
  lead(term: number, options: LeadOptions): Promise<LeadingStores>;
  /** Uploads a snapshot of the copy, and removes what it replaces: older snapshots and most of the log's entries that it contains. */
  snapshot(): Promise<SnapshotRecord>;
  close(): Promise<void>;
}

export interface LeadOptions {
  /** Called once if leading ends without `stepDown`. Pending calls are rejected. */
  readonly onDeposed: (reason: string) => void;
  readonly signal?: AbortSignal;
}

/** The stores of the owner. */
export interface LeadingStores {
  readonly store: Store;
  readonly profiles: ProfileStore;
  /** Ends leading in order: finishes the calls under way. The replica follows again. */
  stepDown(): Promise<void>;
}
