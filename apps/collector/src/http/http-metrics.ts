import type { Metrics } from "../process/telemetry/metrics.js";
import { LevelOfThreads, type Tally, tallyCounter } from "../process/telemetry/tally.js";
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

/** What another thread counted since the last time, and how much it has now. */
export interface HttpCounts {
  readonly answered: Tally;
  readonly broken: Tally;
  readonly activeRequests: number;
  readonly connections: number;
}

export interface HttpMetricsOfProcess extends HttpMetrics {
  take(thread: number, counts: HttpCounts): void;
}

export function httpMetrics(metrics: Metrics, budget: BufferBudget): HttpMetricsOfProcess {
  const requests = metrics.counter("sluice_http_requests_total", "Requests answered, by route and status", [
    "route",
    "status",
  ]);
  const broken = metrics.counter(
    "sluice_http_connections_broken_total",
    "Connections closed because of what the client sent",
    ["code"],
  );
  const active = new LevelOfThreads();
  const connections = new LevelOfThreads();
  const http: HttpMetricsOfProcess = {
    activeRequests: 0,
    connections: 0,
    answered: (route, status) => requests.inc(answerLabels(route, status)),
    broken: (code) => broken.inc([code]),
    take(thread, counts) {
      for (const [labels, count] of counts.answered) requests.inc(labels, count);
      for (const [labels, count] of counts.broken) broken.inc(labels, count);
      active.set(thread, counts.activeRequests);
      connections.set(thread, counts.connections);
    },
  };
  metrics.gauge("sluice_http_buffered_bytes", "Request bodies held in memory", () => budget.usedBytes);
  metrics.gauge("sluice_http_buffered_limit_bytes", "Memory limit for request bodies", () => budget.maxBytes);
  metrics.gauge(
    "sluice_http_requests_active",
    "Requests without a response yet",
    () => http.activeRequests + active.sum,
  );
  metrics.gauge("sluice_http_connections", "Open connections", () => http.connections + connections.sum);
  return http;
}

const answerLabels = (route: string | undefined, status: number) => [route ?? "none", String(status)];

/** Counts for the thread that shows the metrics. `changed` is called when something is counted. */
export function httpTally(changed: () => void): HttpMetrics & { take(): HttpCounts } {
  const answered = tallyCounter(changed);
  const broken = tallyCounter(changed);
  return {
    activeRequests: 0,
    connections: 0,
    answered: (route, status) => answered.inc(answerLabels(route, status)),
    broken: (code) => broken.inc([code]),
    take() {
      const { activeRequests, connections } = this;
      return { answered: answered.take(), broken: broken.take(), activeRequests, connections };
    },
  };
}

/** Of a thread that has ended. */
export const NO_HTTP_COUNTS: HttpCounts = { answered: [], broken: [], activeRequests: 0, connections: 0 };
