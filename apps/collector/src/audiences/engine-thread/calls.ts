import type { ErrorCode } from "../../errors.js";
import type { AudienceEngine, AudienceEngineOptions } from "../engine.js";

/** What the thread is told when it starts. */
export interface EngineThreadOptions extends AudienceEngineOptions {
  /** The data folder. */
  readonly directory: string;
}

export interface Call {
  readonly id: number;
  readonly method: keyof AudienceEngine;
  readonly args: readonly unknown[];
}

export type Answer =
  | { readonly id: number; readonly result: unknown }
  /** `code`: one of the catalogue, where the engine's store said so. */
  | { readonly id: number; readonly error: { readonly code?: ErrorCode; readonly message: string } };
