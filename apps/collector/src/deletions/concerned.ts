import type { DeletionReceipt } from "@sluice/control-api";
import type { Versioned } from "@sluice/event-log";
import type { Catalog } from "../destinations/catalog.js";
import type { DestinationDocument } from "../documents/documents.js";
import type { DeletedUser } from "./deletion.js";

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
