import type {
  CollectorHealthView,
  CollectorInfo,
  DestinationStatusView,
  DiskView,
} from "@sluice/control-api";
import { DOCUMENT_KINDS, type Store, type Versioned } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import { connectedSources } from "../../delivery/control/connections.js";
import type { Health } from "../../delivery/health/judge-health.js";
import { summarizeHealth } from "../../delivery/health/summarize-health.js";
import type { DestinationDocument, SourceDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import { type DiskSpace, lowBelowBytes } from "../../incidents/disk-low.js";
import { auditLog } from "../audit.js";
import type { AdminContext } from "../context.js";
import { destinationStatus, healthView } from "../destinations/destination-status.js";
import { withoutUndefined } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskFor, maskUrls } from "../masking.js";

export const collectorEndpoints: readonly Endpoint[] = [
  endpoint("GET /audit", async ({ query, token }, { store, clock }) => {
    return {
      status: 200,
      body: maskFor(token, await auditLog(store.config, clock).list(query)),
    };
  }),
  endpoint("GET /info", async ({ token }, context) => {
    const { store, clock, mode, publicUrl, region, startedAtMs, version, limits, cluster, readDisk } =
      context;
    const body = withoutUndefined({
      version,
      mode,
      publicUrl,
      region,
      node: process.versions.node,
      startedAt: formatTime(startedAtMs),
      now: formatTime(clock.now()),
      storage: storageView(store),
      disk: await readDisk().then(diskView, () => undefined),
      limits,
      cluster: cluster === undefined ? undefined : { name: cluster.name, node: cluster.node },
      token,
    });
    return { status: 200, body };
  }),
  endpoint("GET /health", async ({ token }, context) => {
    return { status: 200, body: maskUrls(token, await collectorHealth(context)) };
  }),
  endpoint("POST /reset", async (_request, { mode, store, delivery, audiences, events }) => {
    if (mode !== "dev") throw new CollectorError("not_found", "only a collector in dev mode can be reset");
    await audiences.reset(() => store.clear());
    await events.clear();
    // The consumers must notice that their queues are empty.
    for (const { id } of await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination))
      delivery.wake(id);
    return { status: 204 };
  }),
];

export function diskView({ freeBytes, totalBytes }: DiskSpace): DiskView {
  return { freeBytes, totalBytes, lowBelowBytes: Math.round(lowBelowBytes(totalBytes)) };
}

export function storageView(store: Pick<Store, "health">): CollectorInfo["storage"] {
  const health = store.health();
  if (health.kind === "ready") return health;
  return { kind: health.kind, reason: health.reason, since: formatTime(health.sinceMs) };
}

/** The health of every destination, and summaries of it. */
async function collectorHealth(context: AdminContext): Promise<CollectorHealthView> {
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
