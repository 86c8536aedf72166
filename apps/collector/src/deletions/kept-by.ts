import type { DeletionReceipt } from "@sluice/control-api";
import type { Versioned } from "@sluice/event-log";
import type { Catalog } from "../destinations/catalog.js";
import type { DestinationDocument } from "../documents/documents.js";
import type { DeletedUser } from "./deletion.js";

/** Destinations that got messages of the users' sources, and whose type cannot be told to delete them. */
export function keptBy(
  destinations: readonly (Versioned<DestinationDocument> & { readonly id: string })[],
  users: readonly Pick<DeletedUser, "sourceIds">[],
  catalog: Pick<Catalog, "get">,
): NonNullable<DeletionReceipt["kept"]> {
  const sourceIds = new Set(users.flatMap((user) => user.sourceIds));
  return destinations.flatMap(({ id, value: { type, name, connections } }) => {
    if (catalog.get(type)?.takesDeletions === true) return [];
    // Also those that were disconnected since.
    if (!connections.some(({ sourceId }) => sourceIds.has(sourceId))) return [];
    const message = `${name} (${type}) keeps what it got before the deletion: remove the users' messages there`;
    return [{ destinationId: id, message }];
  });
}
