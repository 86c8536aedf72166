import type { Transferable } from "node:worker_threads";
import type { Consumers } from "./consumers.js";
import type { ConfigStore, UsageCounters } from "./documents.js";
import type { EventLog } from "./event-log.js";
import type { Purging } from "./purging.js";
import type { RejectionLog } from "./rejections.js";
import type { Snapshots } from "./snapshots.js";

/** Either end of a channel between two threads: a `MessagePort` of `node:worker_threads`. */
export interface SharePort {
  postMessage(message: unknown, transfer?: readonly Transferable[]): void;
  on(event: "message" | "close", listener: (message: unknown) => void): unknown;
  close(): void;
}

/** Everything that a collector keeps on disk, as one object. Calls after `close` reject with `storage_unavailable`. */
export interface Store extends Purging {
  readonly log: EventLog;
  readonly consumers: Consumers;
  readonly config: ConfigStore;
  readonly rejections: RejectionLog;
  readonly usage: UsageCounters;
  /** Absent: the store is not a file that can be backed up. */
  readonly snapshots?: Snapshots;
  /** Whether the store takes calls now. */
  health(): StoreHealth;
  /** Numbers for metrics. Free to call; they may be one commit old. */
  stats(): StoreStats;
  /**
   * For development and tests: removes every message, dedupe mark, outcome, attempt, retry, refused message and count. Documents stay,
   * consumers stay with their cursors at the head, and offsets continue.
   */
  clear(): Promise<void>;
  /**
   * Lets another thread use the store through this port; that thread joins with `joinStore`. Returns a function that ends it: afterwards no
   * call of the other thread reaches the store. Absent: only this thread can use the store.
   */
  readonly share?: (port: SharePort) => () => void;
  /** Finishes the calls under way, then releases files and threads. */
  close(): Promise<void>;
}

export type StoreHealth =
  | { readonly kind: "ready" }
  | { readonly kind: "unavailable"; readonly reason: string; readonly sinceMs: number };

interface StoreStats {
  /** Messages in the log. */
  readonly messages: number;
  /** Size on disk, or in memory. */
  readonly bytes: number;
  /**
   * Present while retention cannot drop data because a consumer still needs it. `bytes` is how much is kept beyond the limits. The
   * data is dropped when the consumer has passed it or is removed.
   */
  readonly retentionHeldBack?: { readonly consumerId: string; readonly bytes: number };
}
