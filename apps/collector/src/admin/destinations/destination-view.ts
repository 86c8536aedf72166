import {
  type CatalogEntryView,
  type DestinationView,
  NOTIFY_AFTER,
  type RetryScheduleView,
} from "@sluice/control-api";
import type { Versioned } from "@sluice/event-log";
import { RETRY_WINDOW, retrySchedule } from "@sluice/protocol";
import { connectedSources } from "../../delivery/control/connections.js";
import type { Catalog } from "../../destinations/catalog.js";
import type { DestinationType } from "../../destinations/destination.js";
import type { DestinationDocument } from "../../documents/documents.js";

/** A destination without its secrets. Its type decides what is secret, so no settings are shown if the type is gone. */
export function destinationView(
  { id, version, value }: Versioned<DestinationDocument>,
  catalog: Catalog,
): DestinationView {
  const { retryForMs = RETRY_WINDOW.defaultMs, notifyAfterMs = NOTIFY_AFTER.defaultMs } = value;
  return {
    id,
    type: value.type,
    name: value.name,
    enabled: value.enabled,
    createdAt: value.createdAt,
    sourceIds: connectedSources(value),
    filters: value.filters,
    settings: catalog.get(value.type)?.describe(value.settings) ?? {},
    retryForMs,
    retrySchedule: retryScheduleView(retryForMs),
    notifyAfterMs,
    ...(value.transformationId === undefined ? {} : { transformationId: value.transformationId }),
    version,
  };
}

/** Attempts to list. A window of 7 days has hundreds, which are all an hour apart. */
const LISTED_ATTEMPTS = 12;

function retryScheduleView(retryForMs: number): RetryScheduleView {
  const { attemptsAtMs, ...rest } = retrySchedule(retryForMs);
  return { attempts: attemptsAtMs.length, attemptsAtMs: attemptsAtMs.slice(0, LISTED_ATTEMPTS), ...rest };
}

export function catalogEntryView(type: DestinationType): CatalogEntryView {
  return {
    type: type.type,
    name: type.name,
    mode: type.mode,
    sources: type.sources,
    historical: type.historical.accepted,
    ...(type.description === undefined ? {} : { description: type.description }),
    ...(type.icon === undefined ? {} : { icon: type.icon }),
    settingsSchema: type.settingsSchema,
  };
}
