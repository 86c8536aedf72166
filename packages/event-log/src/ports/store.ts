import type { Consumers } from "./consumers.js";
import type { ConfigStore } from "./documents.js";
import type { EventLog } from "./event-log.js";
import type { Purging } from "./purging.js";
import type { RejectionLog } from "./rejections.js";
import type { UsageCounters } from "./usage.js";

export interface Store extends Purging {
  readonly log: EventLog;
  readonly consumers: Consumers;
  readonly config: ConfigStore;
  readonly rejections: RejectionLog;
  readonly usage: UsageCounters;
  /** Whether writes are taken now; `unavailable` says why not. */
  health(): StoreHealth;
  /** Figures for metrics; they cost nothing to ask for and may be a commit old. */
  stats(): StoreStats;
  /**
   * For development and tests: forgets every message, dedupe mark, outcome, attempt, retry, refused message and count.
   * Documents stay, and so do consumers, with their cursors at the head; offsets go on where they were.
   */
  clear(): Promise<void>;
  /** Finishes what was asked for, then releases files and threads. Calls after it reject. */
  close(): Promise<void>;
}

export type StoreHealth =
  | { readonly kind: "ready" }
  | { readonly kind: "unavailable"; readonly reason: string; readonly sinceMs: number };

export interface StoreStats {
  /** Messages in the log now. */
  readonly messages: number;
  /** What the store takes on disk (or in memory), in bytes. */
  readonly bytes: number;
  /**
   * Retention wants to drop what a consumer has not come past: nothing is dropped before it has, or is removed.
   * `bytes` is how much is kept for it beyond what was asked for.
   */
  readonly retentionHeldBack?: { readonly consumerId: string; readonly bytes: number };
}
