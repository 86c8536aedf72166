import type { Store } from "@sluice/event-log";
import { DOCUMENT_KINDS, VersionConflict } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Catalog } from "../../destinations/catalog.js";
import type { DestinationDocument } from "../../documents/documents.js";

/** Disables a target that answered 410 Gone. Resolves with false if it was disabled already. */
export async function disableTarget(
  { store, catalog, clock }: { readonly store: Store; readonly catalog: Catalog; readonly clock: Clock },
  destinationId: string,
  url: string,
): Promise<boolean> {
  for (;;) {
    const before = await store.config.get<DestinationDocument>(DOCUMENT_KINDS.destination, destinationId);
    const type = before && catalog.get(before.value.type);
    if (before === undefined || type?.withoutTarget === undefined) return false;
    const { settings } = before.value;
    const after = type.withoutTarget(settings, url, "it answered 410 Gone", clock.now());
    if (JSON.stringify(after) === JSON.stringify(settings)) return false;
    try {
      await store.config.put(
        DOCUMENT_KINDS.destination,
        destinationId,
        { ...before.value, settings: after },
        before.version,
      );
      return true;
    } catch (error) {
      if (!(error instanceof VersionConflict)) throw error;
    }
  }
}
