/**
 * One reading of the log. Many messages, so that several changes of one user are written once; yet no more than the store reads in a few
 * milliseconds, during which commits wait.
 */
export const READ_LIMITS = { messages: 4_000, bytes: 1_024 * 1_024 } as const;

/**
 *   starting               Before the first task. The definitions are stale and the outbox is uncertain.
 *   taking_up_definitions  The engine is given the stored definitions. Entered when a document changed, at the start and after a failure.
 *   recovering             Messages that a crash or a failed append left in the outbox are published. Entered when the outbox is
 *                          uncertain, after the definitions: they are taken up even while the log cannot be asked.
 *   reading                One round: the next messages of the log, windows that end, history, work beside the log. Entered when the
 *                          definitions are current and the outbox is certain. Left as `busy` or, when there was nothing to do, `quiet`.
 *   idle                   Leaves the machine to ingestion after a busy round. Left after a time that the pressure decides, or at once
 *                          when a call needs the engine.
 *   compacting             The files of profiles are compacted. Entered from a quiet round, after many messages.
 *   waiting                There is nothing to do. Left by a wake-up: an append, a changed document, the next time at which something is due.
 *   paused                 A task failed. The definitions are stale and the outbox is uncertain: the engine's memory may be lost. Left
 *                          after a second.
 *   closed                 Final.
 */
export type LoopState =
  | { readonly kind: "starting" }
  | { readonly kind: "taking_up_definitions" }
  | { readonly kind: "recovering" }
  | { readonly kind: "reading" }
  | { readonly kind: "idle"; readonly end: () => void }
  | { readonly kind: "compacting" }
  | { readonly kind: "waiting" }
  | { readonly kind: "paused" }
  | { readonly kind: "closed" };

/** How the state ended. Only `reading` ends as `busy` or `quiet`. */
export type Outcome = "done" | "busy" | "quiet" | "failed";

/** What the next state depends on beside the last one. */
export interface Situation {
  readonly isClosing: boolean;
  readonly areDefinitionsStale: boolean;
  readonly isOutboxUncertain: boolean;
  readonly isCompactionDue: boolean;
}

export function nextState(outcome: Outcome, situation: Situation): LoopState["kind"] {
  if (situation.isClosing) return "closed";
  switch (outcome) {
    case "failed":
      return "paused";
    case "busy":
      return "idle";
    case "quiet":
      return situation.isCompactionDue ? "compacting" : "waiting";
    case "done":
      if (situation.areDefinitionsStale) return "taking_up_definitions";
      return situation.isOutboxUncertain ? "recovering" : "reading";
    default:
      return outcome satisfies never;
  }
}
