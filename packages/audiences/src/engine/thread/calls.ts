import type { StoreErrorCode } from "@sluice/event-log";
import type { MethodName } from "@sluice/resilience/node";
import type { AudienceEngine } from "../engine.js";
import type { UnitRunnerOptions } from "../state/unit-runner.js";

export interface EngineThreadOptions extends Pick<UnitRunnerOptions, "rememberedProfiles"> {
  /** The data folder. */
  readonly directory: string;
}

/** What a thread is started with: the options, and the settings that the engine does not store. */
export interface EngineThreadData extends EngineThreadOptions {
  readonly suppressed?: Parameters<AudienceEngine["suppress"]>;
  readonly joins?: Parameters<AudienceEngine["allowJoins"]>;
}

/**
 * Methods whose results hold what users sent. It can contain numbers that no double holds; they are kept as raw JSON, which cannot be
 * cloned between threads. So these results travel as JSON.
 */
export const ANSWERED_IN_JSON: ReadonlySet<string> = new Set<MethodName<AudienceEngine>>([
  "values",
  "why",
  "whyValue",
  "profile",
  "search",
  "previewScan",
]);

/** Methods with a list of batches, and which of their arguments it is. */
export const BATCHES_AT: ReadonlyMap<string, number> = new Map<MethodName<AudienceEngine>, number>([
  ["consume", 0],
  ["readHistory", 0],
  ["previewHistory", 1],
]);

/** Methods whose result nobody waits for. */
export const UNANSWERED: ReadonlySet<string> = new Set<MethodName<AudienceEngine>>([
  "suppress",
  "allowJoins",
  "markPublished",
  "previewEnd",
]);

/** `code`: the error's code if the engine or its store reported one; then the message is its detail. */
export type Failure =
  | { readonly code?: never; readonly message: string }
  | { readonly code: StoreErrorCode; readonly message?: string };

/** The file of profiles was damaged and set aside. */
export interface DamageNotice {
  /** The damaged file's new name. */
  readonly setAside: string;
  /** The thread ends, because its memory belongs to the damaged file. The next thread starts with a new file. */
  readonly isEnding: boolean;
}
