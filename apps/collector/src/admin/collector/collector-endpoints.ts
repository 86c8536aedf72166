import { DOCUMENT_KINDS } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { DestinationDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import type { RateHistory } from "../../process/telemetry/rate-history.js";
import { auditLog } from "../audit/audit-log.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskFor } from "../masking/mask-for.js";
import { withoutUndefined } from "../without-undefined.js";

export const collectorEndpoints: readonly Endpoint[] = [
  endpoint("GET /audit", async ({ query, token }, { store, clock }) => {
    return { status: 200, body: maskFor(token, await auditLog(store.config, clock).list(query)) };
  }),
  endpoint("GET /info", ({ token }, { store, clock, mode, region, startedAtMs, version }) => {
    const health = store.health();
    const body = withoutUndefined({
      version,
      mode,
      region,
      node: process.versions.node,
      startedAt: formatTime(startedAtMs),
      now: formatTime(clock.now()),
      storage:
        health.kind === "ready"
          ? health
          : { kind: health.kind, reason: health.reason, since: formatTime(health.sinceMs) },
      token,
    });
    return { status: 200, body };
  }),
  endpoint("POST /reset", async (_request, { mode, store, delivery, audiences }) => {
    if (mode !== "dev") throw new CollectorError("not_found", "only a collector in dev mode can be reset");
    await audiences.reset(() => store.clear());
    // The consumers must notice that their queues are empty.
    for (const { id } of await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination))
      delivery.wake(id);
    return { status: 204 };
  }),
];

export function ratesEndpoint(history: Pick<RateHistory, "read">): Endpoint {
  return endpoint("GET /rates", ({ query }) => ({ status: 200, body: history.read(query.span ?? "1h") }));
}
