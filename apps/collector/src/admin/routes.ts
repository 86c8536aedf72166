import type { Handler, Route } from "../http/routing/route.js";
import { guessLimit } from "../tokens/guess-limit.js";
import { auditLog } from "./audit/audit-log.js";
import type { AdminContext } from "./context.js";
import type { Endpoint } from "./endpoint/endpoint.js";
import { idempotency } from "./endpoint/idempotency.js";
import { type ServingParts, serveEndpoint } from "./endpoint/serve-endpoint.js";
import { ENDPOINTS } from "./endpoints.js";
import { openStreams } from "./live/open-streams.js";
import { recentMessages } from "./live/recent-messages.js";
import { docsRoutes } from "./openapi/docs-page.js";
import { openApiDocument } from "./openapi/openapi.js";

export const API_PREFIX = "/api/v1";

export interface AdminRoutesOptions extends Omit<AdminContext, "recent" | "streams"> {
  /** Further endpoints: those of audiences, computed traits, profiles, deletions, rates and incidents. */
  readonly endpoints?: readonly Endpoint[];
}

/** The routes of the control API, its OpenAPI document and its documentation page. */
export function adminRoutes({ endpoints = [], ...options }: AdminRoutesOptions): Route[] {
  const context: AdminContext = {
    ...options,
    recent: recentMessages(options.store.log, options.clock, options.planOf),
    streams: openStreams(),
  };
  const all = [...ENDPOINTS, ...endpoints];
  const parts: ServingParts = {
    context,
    guesses: guessLimit(),
    audit: auditLog(context.store.config, context.clock),
    idempotency: idempotency(context.store.config, context.clock),
  };
  const byPath = new Map<string, Partial<Record<Endpoint["method"], Handler>>>();
  for (const endpoint of all) {
    const path = `${API_PREFIX}${endpoint.path}`;
    const methods = byPath.get(path) ?? {};
    methods[endpoint.method] = serveEndpoint(endpoint, parts);
    byPath.set(path, methods);
  }
  return [
    ...[...byPath].map(([path, methods]): Route => ({ path, methods })),
    ...docsRoutes(() => openApiDocument(all, context.version)),
  ];
}
