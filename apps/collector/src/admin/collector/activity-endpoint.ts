import { DOCUMENT_KINDS, type EventLog } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { DestinationDocument, SourceDocument } from "../../documents/documents.js";
import type { Activity } from "../../process/telemetry/activity.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { withoutUndefined } from "../without-undefined.js";

/** The endpoint for what each source sent and each destination received. */
export function activityEndpoint(activity: Pick<Activity, "read">): Endpoint {
  /** When sources sent their last message before the collector's start; undefined if the log has none of them. */
  const before = new Map<string, number | undefined>();
  const lastBefore = async (log: EventLog, sourceId: string): Promise<number | undefined> => {
    if (!before.has(sourceId)) before.set(sourceId, await newestOf(log, sourceId));
    return before.get(sourceId);
  };
  return endpoint("GET /activity", async (_request, { store }) => {
    const [now, sources, destinations] = await Promise.all([
      activity.read(),
      store.config.list<SourceDocument>(DOCUMENT_KINDS.source),
      store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination),
    ]);
    const ids = new Set(sources.map(({ id }) => id));
    for (const id of before.keys()) if (!ids.has(id)) before.delete(id);
    const body = {
      overMs: Math.round(now.overMs),
      sources: await Promise.all(
        sources.map(async ({ id }) => {
          const { accepted, lastMs = await lastBefore(store.log, id) } = now.source(id);
          return withoutUndefined({ sourceId: id, accepted, lastMessageAt: timeOf(lastMs) });
        }),
      ),
      destinations: destinations.map(({ id }) => {
        const { lastMs, ...counts } = now.destination(id);
        return withoutUndefined({ destinationId: id, ...counts, lastDeliveryAt: timeOf(lastMs) });
      }),
    };
    return { status: 200, body };
  });
}

async function newestOf(log: EventLog, sourceId: string): Promise<number | undefined> {
  const { items } = await log.find({ sourceId }, { limit: 1 });
  return items[0]?.receivedAtMs;
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatTime(ms);
}
