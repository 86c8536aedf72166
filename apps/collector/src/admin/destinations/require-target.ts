import type { Versioned } from "@sluice/event-log";
import type { Catalog } from "../../destinations/catalog.js";
import type { DestinationDocument } from "../../documents/documents.js";
import { CollectorError, type ErrorCode } from "../../errors.js";

/** Throws if nothing can be sent to the destination now: it is disabled, or all its URLs are, so that every delivery would fail at once. */
export function requireTarget({ id, value }: Versioned<DestinationDocument>, catalog: Catalog): void {
  const refuse = (code: ErrorCode, why: string): never => {
    throw new CollectorError(code, `Nothing can be sent to ${value.name}: ${why}`, {
      details: { destinationId: id, destination: value.name },
    });
  };
  if (!value.enabled) refuse("destination_disabled", "it is disabled. Enable it, then retry");
  const { called, disabled } = catalog.get(value.type)?.targets?.(value.settings) ?? NONE;
  if (called.length > 0 || disabled.length === 0) return;
  const urls = disabled.map(({ url }) => url).join(", ");
  refuse(
    "url_disabled",
    `all its URLs answered 410 Gone and are disabled (${urls}). Enable them again on the destination's page, then retry`,
  );
}

const NONE = { called: [], disabled: [] };
