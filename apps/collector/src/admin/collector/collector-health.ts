import type { CollectorHealthView, DestinationStatusView } from "@sluice/control-api";
import { DOCUMENT_KINDS, type Versioned } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import { connectedSources } from "../../delivery/control/connections.js";
import type { Health } from "../../delivery/health/judge-health.js";
import { summarizeHealth } from "../../delivery/health/summarize-health.js";
import type { DestinationDocument, SourceDocument } from "../../documents/documents.js";
import type { AdminContext } from "../context.js";
import { destinationStatus, healthView } from "../destinations/destination-status.js";

/** The health of every destination, and summaries of it. */
export async function collectorHealth(context: AdminContext): Promise<CollectorHealthView> {
  const { store } = context;
  const [destinations, sources] = await Promise.all([
    store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination),
    store.config.list<SourceDocument>(DOCUMENT_KINDS.source),
  ]);
  const statuses = await Promise.all(destinations.map((one) => destinationStatus(one, context)));
  const members = destinations.map((destination, index) => ({
    ...memberOf(destination, statuses[index] as DestinationStatusView),
    sourceIds: connectedSources(destination.value),
  }));
  const storage = store.health();
  const whole = healthView(summarizeHealth(members));
  return {
    ...(storage.kind === "ready"
      ? whole
      : {
          health: "storage_unavailable",
          reason: `The collector cannot write to its disk: ${storage.reason}`,
          since: formatTime(storage.sinceMs),
        }),
    destinations: statuses,
    sources: sources.map(({ id }) => ({
      sourceId: id,
      ...healthView(summarizeHealth(members.filter(({ sourceIds }) => sourceIds.includes(id)))),
    })),
  };
}

function memberOf(
  { value }: Versioned<DestinationDocument>,
  { health, reason, since }: DestinationStatusView,
): Health & { readonly name: string } {
  const sinceMs = since === undefined ? {} : { sinceMs: Date.parse(since) };
  return { name: value.name, health, reason, ...sinceMs };
}
