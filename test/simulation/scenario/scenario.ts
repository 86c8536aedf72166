import type { SdkPlan } from "../actors/sdk-actor.js";
import type { Step } from "./steps.js";

/** A destination as the scenario creates it. */
export interface DestinationPlan {
  readonly name: string;
  /** The indexes of its sources. */
  readonly sources: readonly number[];
  readonly order: "none" | "user";
  readonly concurrency: number;
  readonly retryForMs: number;
  /** Drops track messages whose property `n` is odd. */
  readonly dropsOdd: boolean;
  /** It has a transformation, whose code changes. */
  readonly isTransformed: boolean;
  readonly urls: number;
  readonly success: "any" | "each";
}

/**
 * What a run is about. Faults of most kinds meet in any; the others leave out what would hide what they are about: `people` has
 * audiences of users who turn out to be visitors, and nothing is removed; in `deletions`, nothing but deletions removes messages; in
 * `waits`, receivers, and what stands in front of the collector, ask senders to wait for different times.
 */
export type Theme = "any" | "people" | "deletions" | "waits";
/** A destination of a package, which gets batches. */
export interface WarehousePlan {
  /** The indexes of its sources. */
  readonly sources: readonly number[];
  readonly maxMessages: number;
  readonly maxAgeMs: number;
  readonly retryForMs: number;
  /** How it answers while nothing else is the matter. */
  readonly usual: "takes" | "sorts";
}

/** Everything that a run does. Plain data: it can be printed, shrunk and repeated. */
export interface Scenario {
  readonly seed: number;
  readonly theme: Theme;
  /** Where messages are kept: a store in memory, the embedded store in a folder, or the replicated store of a cluster. */
  readonly store: "memory" | "embedded" | "replicated";
  /** How many threads of the collector work, the main one included. */
  readonly workers: number;
  readonly sources: number;
  readonly sdks: readonly SdkPlan[];
  readonly destinations: readonly DestinationPlan[];
  /** Absent: there is none. */
  readonly warehouse?: WarehousePlan;
  /** In the order of their times. */
  readonly steps: readonly Step[];
}
