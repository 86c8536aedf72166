import type { DeletionReceipt } from "@sluice/control-api";
import {
  type EventLog,
  type Identity,
  idOf,
  isUserIdentity,
  type StoredMessage,
  type Versioned,
} from "@sluice/event-log";
import type { Catalog } from "../destinations/catalog.js";
import type { DestinationDocument } from "../documents/documents.js";
import type { DeletedUser } from "./deletion.js";

/**
 * The anonymous ids that are deleted together with an id. An `alias` message joins its previous id both as a user id and as an
 * anonymous id. If the profile has it as a user id, it is not listed here.
 */
export function devicesOf(
  identity: Identity,
  { identities, aliases }: { readonly identities: readonly Identity[]; readonly aliases: readonly string[] },
): string[] {
  const users = new Set(aliases);
  return identities
    .filter((one) => one !== identity && !isUserIdentity(one))
    .map(idOf)
    .filter((id) => !users.has(id));
}

const PAGE_SIZE = 200;

/** Reads all messages of these ids from the log. A message with a user id belongs to that user, regardless of its anonymous id. */
export async function* messagesOf(
  identities: readonly Identity[],
  log: Pick<EventLog, "find">,
): AsyncGenerator<StoredMessage> {
  for (const identity of identities) {
    let cursor: string | undefined;
    do {
      const page = await log.find(
        { identity },
        { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) },
      );
      yield* page.items;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }
}

/** The parts of audiences that a deletion needs. */
export interface ProfileRemoval {
  /**
   * Resolves when every message that was stored before the call is counted, so that a user's other ids are known. Also resolves after a
   * timeout.
   */
  counted(): Promise<void>;
  /** Returns the ids and profile data to delete for an id. */
  identitiesOf(
    identity: Identity,
    includeAliases: boolean,
  ): Promise<
    ProfileFigures & {
      /** The id and those joined to it. With `includeAliases`, also the aliases and the ids joined to them. */
      readonly identities: readonly Identity[];
      /** Other user ids of the same profile. */
      readonly aliases: readonly string[];
    }
  >;
  forget(
    users: readonly { readonly identity: Identity; readonly identities: readonly Identity[] }[],
  ): Promise<readonly ProfileFigures[]>;
  compact(): Promise<void>;
}

interface ProfileFigures {
  readonly profile: boolean;
  readonly audienceMemberships: number;
}

/** The ids to delete with a requested one: those that its profile has, and those that are known of it already: the profile may be removed. */
export async function idsOfUser(
  { identity, identities, aliases }: Pick<DeletedUser, "identity" | "identities" | "aliases">,
  includeAliases: boolean,
  profiles: Pick<ProfileRemoval, "identitiesOf">,
): Promise<Pick<DeletedUser, "identities" | "aliases">> {
  const found = await profiles.identitiesOf(identity, includeAliases);
  return {
    identities: [...new Set([...found.identities, ...identities])],
    aliases: [...new Set([...found.aliases, ...aliases])],
  };
}

type Concerned = NonNullable<DeletionReceipt["destinations"]>[number];

/** The destinations that got messages of the users' sources, what a deletion does there, and in words what is left to do. */
export function concernedBy(
  destinations: readonly (Versioned<DestinationDocument> & { readonly id: string })[],
  users: readonly Pick<DeletedUser, "sourceIds">[],
  catalog: Pick<Catalog, "get">,
): readonly Concerned[] {
  const sourceIds = new Set(users.flatMap((user) => user.sourceIds));
  return destinations.flatMap(({ id, value }) => {
    const connections = value.connections.filter(({ sourceId }) => sourceIds.has(sourceId));
    if (connections.length === 0) return [];
    const takes = catalog.get(value.type)?.takesDeletions ?? "none";
    // One that was disconnected since got messages, and is told nothing.
    const isTold = value.enabled && connections.some(({ upTo }) => upTo === undefined);
    return [{ destinationId: id, takes, message: `${value.name} (${value.type}) ${wordsOf(takes, isTold)}` }];
  });
}

function wordsOf(takes: Concerned["takes"], isTold: boolean): string {
  if (takes === "none") return "keeps what it got before the deletion: remove the users' messages there";
  if (!isTold) return "is disabled or disconnected and is not told: remove the users' messages there";
  return takes === "erase" ? "erases what it got of the users" : "gets a delete message for each user";
}
