import { metricsRoute } from "../http/health-routes.js";
import type { Handler, Route } from "../http/routing.js";
import type { Metrics } from "../process/telemetry/metrics.js";
import { guessLimit } from "../tokens/guess-limit.js";
import { auditLog } from "./audit.js";
import { guardMetrics } from "./collector/guard-metrics.js";
import type { AdminContext } from "./context.js";
import { filesInFolder, findDashboard } from "./dashboard/dashboard-files.js";
import { dashboardRoutes } from "./dashboard/dashboard-routes.js";
import type { Endpoint } from "./endpoint/endpoint.js";
import { idempotency } from "./endpoint/idempotency.js";
import { type ServingParts, serveEndpoint } from "./endpoint/serve-endpoint.js";
import { type EndpointParts, endpointsOf } from "./endpoints.js";
import { recentMessages } from "./live/recent-messages.js";
import { openStreams } from "./live/server-sent-event.js";
import { docsRoutes } from "./openapi/docs-page.js";
import { openApiDocument } from "./openapi/openapi.js";

export const API_PREFIX = "/api/v1";

export interface AdminRoutesOptions extends Omit<AdminContext, "recent" | "streams"> {
  readonly endpoints: readonly Endpoint[];
}

export interface OperatorRoutesOptions extends Omit<AdminRoutesOptions, "endpoints">, EndpointParts {
  readonly audiences: EndpointParts["audiences"];
  readonly metrics: Metrics;
  /** Default: the dashboard that was built with the collector, if there is one. */
  readonly dashboardDirectory?: string | undefined;
}

/** What operators use: metrics, control API, dashboard. */
export function operatorRoutes(options: OperatorRoutesOptions): Route[] {
  const { metrics, tokens, clock, dashboardDirectory } = options;
  const dashboard = dashboardDirectory === undefined ? findDashboard() : filesInFolder(dashboardDirectory);
  return [
    guardMetrics(metricsRoute(metrics), tokens, clock),
    ...adminRoutes({ ...options, endpoints: endpointsOf(options) }),
    ...(dashboard === undefined ? [] : dashboardRoutes(dashboard)),
  ];
}

/** The routes of the control API, its OpenAPI document and its documentation page. */
export function adminRoutes({ endpoints, ...options }: AdminRoutesOptions): Route[] {
  const context: AdminContext = {
    ...options,
    recent: recentMessages(options.store.log, options.clock, options.planOf),
    streams: openStreams(),
  };
  const parts: ServingParts = {
    context,
    guesses: guessLimit(),
    audit: auditLog(context.store.config, context.clock),
    idempotency: idempotency(context.store.config, context.clock),
  };
  const byPath = new Map<string, Partial<Record<Endpoint["method"], Handler>>>();
  for (const endpoint of endpoints) {
    const path = `${API_PREFIX}${endpoint.path}`;
    const methods = byPath.get(path) ?? {};
    methods[endpoint.method] = serveEndpoint(endpoint, parts);
    byPath.set(path, methods);
  }
  return [
    ...[...byPath].map(([path, methods]): Route => ({ path, methods })),
    ...docsRoutes(() => openApiDocument(endpoints, context.version)),
  ];
}
