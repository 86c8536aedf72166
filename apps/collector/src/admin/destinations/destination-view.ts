import type { CatalogEntryView, DestinationView } from "@sluice/control-api";
import type { Versioned } from "@sluice/event-log";
import { connectedSources } from "../../delivery/control/connections.js";
import type { Catalog } from "../../destinations/catalog.js";
import type { DestinationType } from "../../destinations/destination.js";
import type { DestinationDocument } from "../../documents/documents.js";

/** A destination without its secrets. Its type decides what is secret, so no settings are shown if the type is gone. */
export function destinationView(
  { id, version, value }: Versioned<DestinationDocument>,
  catalog: Catalog,
): DestinationView {
  return {
    id,
    type: value.type,
    name: value.name,
    enabled: value.enabled,
    createdAt: value.createdAt,
    sourceIds: connectedSources(value),
    filters: value.filters,
    settings: catalog.get(value.type)?.describe(value.settings) ?? {},
    version,
  };
}

export function catalogEntryView(type: DestinationType): CatalogEntryView {
  return {
    type: type.type,
    name: type.name,
    mode: type.mode,
    sources: type.sources,
    historical: type.historical.accepted,
    settingsSchema: type.settingsSchema,
  };
}
