import type { Versioned } from "@sluice/event-log";
import type { Catalog } from "../../destinations/catalog.js";
import type { DestinationDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";

/** Throws `url_disabled` if all URLs of the destination are disabled, because every delivery would fail at once. */
export function requireTarget({ id, value }: Versioned<DestinationDocument>, catalog: Catalog): void {
  const { called, disabled } = catalog.get(value.type)?.targets?.(value.settings) ?? NONE;
  if (called.length > 0 || disabled.length === 0) return;
  throw new CollectorError(
    "url_disabled",
    `Nothing can be sent to ${value.name}: all its URLs answered 410 Gone and are disabled (${disabled.map(({ url }) => url).join(", ")}). Enable them again on the destination's page, then retry`,
    { details: { destinationId: id, destination: value.name } },
  );
}

const NONE = { called: [], disabled: [] };
