import type { DeletionReceipt, DeletionStatus, DeletionView } from "@sluice/control-api";
import { type Identity, idOf, type Versioned } from "@sluice/event-log";

/** Document kind in the config store. */
export const DELETION = "deletion";

/**
 * The steps of a deletion, in order. Each step is idempotent, so it can be repeated after a crash. The names are stored in
 * deletion documents and returned by the control API.
 *
 *   suppress  if requested, refuses later messages of the user, before anything is removed
 *   collect   records the user's ids and the sources that have messages of the user, before these are removed
 *   purge     removes messages, attempts and retries
 *   forget    removes the profile, memberships, and audience messages that are not published yet
 *   tell      sends a `delete` message per source to its enabled destinations that accept deletions
 *   erase     rewrites the files, so that no removed data is left on disk
 *   trace     waits until the `delete` messages are delivered, or somebody gives up those that failed, then purges them too
 *   done      nothing is left to do
 */
export const STEPS = ["suppress", "collect", "purge", "forget", "tell", "erase", "trace", "done"] as const;
export type Step = (typeof STEPS)[number];

/** A user to delete. Stored until `erase`. */
export interface DeletedUser {
  /** The requested id. */
  readonly identity: Identity;
  /** All ids to delete: this one and those joined to it. Set by `collect`. */
  readonly identities: readonly Identity[];
  /** Other user ids of the same profile. */
  readonly aliases: readonly string[];
  /** Sources that have messages of the user. Set by `collect`. */
  readonly sourceIds: readonly string[];
}

export interface DeletionDocument {
  readonly createdAt: string;
  readonly suppress: boolean;
  /** Default: false. */
  readonly includeAliases?: boolean;
  readonly status: DeletionStatus;
  /** The next step. */
  readonly step: Step;
  /** Removed by `erase`, because ids are personal data. */
  readonly users?: readonly DeletedUser[];
  readonly error?: string;
  /** Somebody gave up the `delete` messages that are not delivered. */
  readonly givesUp?: boolean;
  readonly receipt: DeletionReceipt;
}

export function stepAfter(step: Step): Step {
  return STEPS[STEPS.indexOf(step) + 1] ?? "done";
}

export function deletionView({ id, value }: Versioned<DeletionDocument>): DeletionView {
  const { status, createdAt, suppress, includeAliases = false, step, error, receipt } = value;
  const aliases = (value.users ?? []).flatMap(({ identity, aliases: userIds }) =>
    userIds.length === 0 ? [] : [{ userId: idOf(identity), aliases: userIds }],
  );
  return {
    id,
    status,
    createdAt,
    suppress,
    includeAliases,
    userCount: receipt.users.length,
    ...(aliases.length === 0 ? {} : { aliases }),
    step,
    ...(error === undefined ? {} : { error }),
    ...(status === "initialized" ? {} : { receipt }),
  };
}
