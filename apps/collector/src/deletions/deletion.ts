import type { DeletionReceipt, DeletionStatus, DeletionView } from "@sluice/control-api";
import type { Versioned } from "@sluice/event-log";
import { anonymousIdentity, type Identity, idOf, userIdentity } from "@sluice/event-log";

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
  /** The id that was asked for. */
  readonly identity: Identity;
  /** All ids that go: this one and those joined to it. Set by `collect`. */
  readonly identities: readonly Identity[];
  /** Other user ids of the same profile. */
  readonly aliases: readonly string[];
  /** Sources with messages of it; set by `collect`. */
  readonly sourceIds: readonly string[];
}

/** A user as an older version stored it, which did not tell user ids and anonymous ids apart. */
interface UntypedUser {
  readonly userId: string;
  readonly ids: readonly string[];
  /** Anonymous ids that are somebody else's user id. */
  readonly sharedIds?: readonly string[];
  readonly sourceIds: readonly string[];
}

export interface DeletionDocument {
  readonly createdAt: string;
  readonly suppress: boolean;
  /** Default: false. */
  readonly includeAliases?: boolean;
  readonly status: DeletionStatus;
  /** The step that is to be made next. */
  readonly step: Step;
  /** Absent from `erase` on: ids are data too. */
  readonly users?: readonly (DeletedUser | UntypedUser)[];
  readonly error?: string;
  readonly receipt: DeletionReceipt;
}

/** The step after one. */
export function stepAfter(step: Step): Step {
  return STEPS[STEPS.indexOf(step) + 1] ?? "done";
}

/** Whom a deletion is about. One that an older version began ends as it began: its ids are meant whatever they are. */
export function usersOf({ users = [] }: Pick<DeletionDocument, "users">): readonly DeletedUser[] {
  return users.map((user) => {
    if ("identity" in user) return user;
    const { userId, ids, sharedIds = [], sourceIds } = user;
    const identities = ids.flatMap((id) => [userIdentity(id), anonymousIdentity(id)]);
    return {
      identity: userIdentity(userId),
      identities: [...identities, ...sharedIds.map(anonymousIdentity)],
      aliases: [],
      sourceIds,
    };
  });
}

export function deletionView({ id, value }: Versioned<DeletionDocument>): DeletionView {
  const { status, createdAt, suppress, includeAliases = false, step, error, receipt } = value;
  const aliases = usersOf(value).flatMap(({ identity, aliases: userIds }) =>
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
