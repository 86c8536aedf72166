import type { Metrics } from "../process/telemetry/metrics.js";
import type { BufferBudget } from "./body/buffer-budget.js";

/** The metrics of the HTTP server. */
export interface HttpMetrics {
  /** Requests without a response yet. */
  activeRequests: number;
  connections: number;
  /** `route`: the path pattern; undefined if no route matched. */
  answered(route: string | undefined, status: number): void;
  /** A connection was closed because of what the client sent. */
  broken(code: string): void;
}

export function httpMetrics(metrics: Metrics, budget: BufferBudget): HttpMetrics {
  const requests = metrics.counter("sluice_http_requests_total", "Requests answered, by route and status", [
    "route",
    "status",
  ]);
  const broken = metrics.counter(
    "sluice_http_connections_broken_total",
    "Connections closed because of what the client sent",
    ["code"],
  );
  const http: HttpMetrics = {
    activeRequests: 0,
    connections: 0,
    answered: (route, status) => requests.inc([route ?? "none", String(status)]),
    broken: (code) => broken.inc([code]),
  };
  metrics.gauge("sluice_http_buffered_bytes", "Request bodies held in memory", () => budget.usedBytes);
  metrics.gauge("sluice_http_buffered_limit_bytes", "Memory limit for request bodies", () => budget.maxBytes);
  metrics.gauge("sluice_http_requests_active", "Requests without a response yet", () => http.activeRequests);
  metrics.gauge("sluice_http_connections", "Open connections", () => http.connections);
  return http;
}
