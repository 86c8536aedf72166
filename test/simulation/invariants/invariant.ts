import type { AudienceDocument, ComputedTraitDocument } from "@sluice/audiences";
import type { OperationView } from "@sluice/control-api";
import type { Delivery, Offset, StoredMessage, Versioned } from "@sluice/event-log";
import type { Post, StoredOutcome } from "../actors/history.js";
import type { Cast, CastDestination } from "../scenario/cast.js";
import type { Scenario } from "../scenario/scenario.js";

export interface Usage {
  readonly accepted: number;
  readonly delivered: number;
  readonly filtered: number;
}

/** A message at a destination, from its first attempt or from a replay until the next replay. */
export interface Life {
  /** Absent: its first one. */
  readonly replayedAtMs?: number;
  readonly posts: readonly Post[];
  readonly outcomes: readonly StoredOutcome[];
}

/** A copy of a replicated store, a snapshot, or an entry of the log. */
export interface CopyAtRest {
  /** Which machine has it, or what it is. */
  readonly name: string;
  /** When the entry was appended. */
  readonly atMs?: number;
  /** All tables, in a form that is equal for equal copies. */
  readonly contents?: Readonly<Record<string, unknown>>;
  /** All bytes, as text. */
  readonly text: string;
}

export interface AtRest {
  /** By name and labels, as `/metrics` shows them. */
  readonly metrics: ReadonlyMap<string, number>;
  readonly timers: number;
  /** What the store says about each destination, by its id. */
  readonly backlogs: ReadonlyMap<string, { readonly behind: number; readonly retries: number }>;
}

/** A run after its end: every fault is over, everything that could be delivered had the time for it, and the collector still runs. */
export interface FinishedRun {
  readonly scenario: Scenario;
  readonly cast: Cast;
  /** Everything in the log, in order. */
  readonly messages: readonly StoredMessage[];
  /** Messages that retention has dropped from it. Those of users who were deleted are left out. */
  readonly dropped: readonly StoredMessage[];
  /** The bytes of the log, as text. */
  readonly logText: string;
  /** The audiences that exist. */
  readonly audiences: readonly Versioned<AudienceDocument>[];
  /** The computed traits that exist: each counts the events `Happened`. */
  readonly counts: readonly Versioned<ComputedTraitDocument>[];
  /** The status of each deletion, by its id. */
  readonly deletions: ReadonlyMap<string, string>;
  /** The users that have a profile. */
  readonly profileIds: ReadonlySet<string>;
  /** The requests that carried a message to a destination, in order. */
  postsOf(destination: CastDestination, messageId: string): readonly Post[];
  /** The lives of a message at a destination: one, and another for each replay. */
  livesOf(destination: Pick<CastDestination, "id">, message: StoredMessage): readonly Life[];
  /** The operations that were started. */
  readonly operations: readonly OperationView[];
  /** What the collector counts and holds, now that nothing is under way. */
  readonly atRest: AtRest;
  /** The copies of a cluster, after its processes have stopped. */
  readonly copies: readonly CopyAtRest[];
  /** The usage of a source, over all days. */
  usageOf(sourceId: string): Usage;
  /** What the store says about each message at each destination. */
  deliveryOf(destination: Pick<CastDestination, "id">, offset: Offset): Delivery | undefined;
}

/**
 * A promise of the product that holds in every run. To add one: write a file that exports it, and add it to `INVARIANTS`.
 */
export interface Invariant {
  /** The name of its file, without `.ts`. */
  readonly name: string;
  /** The promise, in a sentence. */
  readonly promise: string;
  /** What is wrong in this run, a line each. */
  check(run: FinishedRun): string[];
}
