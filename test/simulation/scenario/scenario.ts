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

/** Everything that a run does. Plain data: it can be printed, shrunk and repeated. */
export interface Scenario {
  readonly seed: number;
  /** Where messages are kept: a store in memory, the embedded store in a folder, or the replicated store of a cluster. */
  readonly store: "memory" | "embedded" | "replicated";
  readonly sources: number;
  readonly sdks: readonly SdkPlan[];
  readonly destinations: readonly DestinationPlan[];
  /** In the order of their times. */
  readonly steps: readonly Step[];
}
