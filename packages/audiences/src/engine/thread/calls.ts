import type { StoreErrorCode } from "@sluice/event-log";
import type { AudienceEngine, AudienceEngineOptions } from "../engine.js";

/** What the thread is told when it starts. */
export interface EngineThreadOptions extends Pick<AudienceEngineOptions, "rememberedProfiles"> {
  /** The data folder. */
  readonly directory: string;
}

export interface Call {
  readonly id: number;
  readonly method: keyof AudienceEngine;
  readonly args: readonly unknown[];
}

/**
 * Methods that show what users sent. Among it may be numbers that no double holds: they are kept as raw JSON, which cannot be cloned
 * from one thread to another, so these answers go as JSON.
 */
export const ANSWERED_IN_JSON: ReadonlySet<keyof AudienceEngine> = new Set([
  "values",
  "why",
  "whyValue",
  "profile",
  "previewScan",
]);

/** `code`: one of the catalogue, where the engine or its store said so; the message is its detail then. */
export type Failure =
  | { readonly code?: never; readonly message: string }
  | { readonly code: StoreErrorCode; readonly message?: string };

export type Answer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly json: string }
  | { readonly id: number; readonly error: Failure };

/** Told by the thread of itself: the file of profiles was damaged, and what it is called now. */
export interface Notice {
  readonly setAside: string;
  /** The thread ends by itself: what it remembers belongs to the damaged file. The next thread has a new one. */
  readonly isEnding: boolean;
}
