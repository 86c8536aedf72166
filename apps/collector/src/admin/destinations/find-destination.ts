import type { ConfigStore, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import type { DestinationDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";

/** The destination of that id; throws `not_found`. */
export async function findDestination(
  config: ConfigStore,
  id: string | undefined,
): Promise<Versioned<DestinationDocument>> {
  const destination = await config.get<DestinationDocument>(DOCUMENT_KINDS.destination, id ?? "");
  if (destination === undefined) throw new CollectorError("not_found", `no destination has the id ${id}`);
  return destination;
}
