import type { LogLine, TransformFailure } from "../transform.js";

/**
 * One result as it leaves the thread. Messages are JSON text: the caller parses those that changed. Most come back without a log, as they
 * were (`SAME`) or changed, and a text is cheaper to pass than an object.
 */
export type ThreadResult = string | LoggedResult;

export const SAME = "";

type LoggedResult = (
  | { readonly kind: "same" | "dropped" }
  | { readonly kind: "texts"; readonly texts: readonly string[]; readonly isArray: boolean }
  | ({ readonly kind: "failed" } & TransformFailure)
) & { readonly logs: readonly LogLine[] };

export interface Stopped {
  readonly failure: TransformFailure;
  readonly logs: readonly LogLine[];
  /** Whether the first message without a result was running. After the end of a thread, nobody knows. */
  readonly isKnown: boolean;
}

/** The results of a batch, in its order. If the run was stopped, they are those of the messages before. */
export interface BatchAnswer {
  readonly done: readonly ThreadResult[];
  readonly stopped?: Stopped;
}

/** Failures after which a VM is not used any more. */
export const isStopping = ({ code }: TransformFailure): boolean =>
  code === "timeout" || code === "memory" || code === "crashed";
