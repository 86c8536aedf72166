import type { DeletionReceipt, DeletionStatus, DeletionView } from "@sluice/protocol";
import type { Versioned } from "../store/store.js";

/** Kind of its documents in the config store. */
export const DELETION = "deletion";

/**
 * The steps of a deletion, in order; each can be made again after a crash.
 *
 *   suppress  the user's later messages are refused (where asked), before anything is removed
 *   collect   under which ids and at which sources the user has messages: noted before they go
 *   purge     log, attempts, retries
 *   forget    profile, memberships, messages owed by audiences
 *   tell      one delete message a source, to its enabled webhook destinations
 *   erase     the files are rewritten: no byte of it is left
 *   trace     waits for the delete messages to be delivered or given up, and purges them too
 *   done
 */
export const STEPS = ["suppress", "collect", "purge", "forget", "tell", "erase", "trace", "done"] as const;
export type Step = (typeof STEPS)[number];

/** A user while the deletion still needs to know who it is. */
export interface DeletedUser {
  readonly userId: string;
  /** All ids that the profile answered to, and the messages found under them; set by `collect`. */
  readonly ids: readonly string[];
  /** Anonymous ids of it that are another user's user id: only messages without a user id go. */
  readonly sharedIds?: readonly string[];
  readonly sourceIds: readonly string[];
}

export interface DeletionDocument {
  readonly createdAt: string;
  readonly suppress: boolean;
  readonly status: DeletionStatus;
  /** The step that is to be made next. */
  readonly step: Step;
  /** Absent from `erase` on: ids are data too. */
  readonly users?: readonly DeletedUser[];
  readonly error?: string;
  readonly receipt: DeletionReceipt;
}

/** The step after one. */
export function stepAfter(step: Step): Step {
  return STEPS[STEPS.indexOf(step) + 1] ?? "done";
}

export function deletionView({ id, value }: Versioned<DeletionDocument>): DeletionView {
  const { status, createdAt, suppress, step, error, receipt } = value;
  return {
    id,
    status,
    createdAt,
    suppress,
    userCount: receipt.users.length,
    step,
    ...(error === undefined ? {} : { error }),
    ...(status === "initialized" ? {} : { receipt }),
  };
}
