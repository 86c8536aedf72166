import type { Metrics } from "../process/telemetry/metrics.js";
import type { BufferBudget } from "./body/buffer-budget.js";
import type { Route } from "./routing/route.js";

export type Health = { readonly kind: "ready" } | { readonly kind: "unavailable"; readonly reason: string };

/** What readiness says of the cluster to which the process belongs. */
export interface ClusterReadiness {
  health(): Health;
  /** Further fields of `/readyz`. */
  details(): object;
}

export interface HealthRoutesOptions {
  /** Whether the store takes writes. */
  readonly health: () => Health;
  readonly budget: BufferBudget;
  readonly metrics: Metrics;
  readonly cluster?: ClusterReadiness;
}

/** Above this share of the memory for bodies the collector is not ready, so that load balancers send requests elsewhere. */
const BUSY_SHARE = 0.8;

export type Readiness = { readonly kind: "ready" } | { readonly kind: "not ready"; readonly reason: string };

export function readiness(health: Health, bufferedShare: number): Readiness {
  if (health.kind === "unavailable")
    return { kind: "not ready", reason: `storage_unavailable: ${health.reason}` };
  if (bufferedShare > BUSY_SHARE) return { kind: "not ready", reason: "overloaded" };
  return { kind: "ready" };
}

/** `/healthz`: the process responds. `/readyz`: it accepts messages. Both need no token. */
export function healthRoutes({ health, budget, metrics, cluster }: HealthRoutesOptions): Route[] {
  const bufferedShare = (): number => budget.usedBytes / budget.maxBytes;
  const whole = (): Readiness => {
    const own = readiness(health(), bufferedShare());
    const ofCluster = cluster?.health();
    return own.kind === "ready" && ofCluster?.kind === "unavailable"
      ? { kind: "not ready", reason: ofCluster.reason }
      : own;
  };
  metrics.gauge("sluice_ready", "1 while the collector accepts requests", () =>
    whole().kind === "ready" ? 1 : 0,
  );
  metrics.gauge("sluice_store_available", "1 while the store accepts writes", () =>
    health().kind === "ready" ? 1 : 0,
  );
  return [
    { path: "/healthz", methods: { GET: () => ({ status: 200, body: { status: "ok" } }) } },
    {
      path: "/readyz",
      methods: {
        GET: () => {
          const now = whole();
          const details = cluster?.details();
          return now.kind === "ready"
            ? { status: 200, body: { status: "ready", ...details } }
            : {
                status: 503,
                headers: { "retry-after": "1" },
                body: { status: "not ready", reason: now.reason, ...details },
              };
        },
      },
    },
  ];
}

/** `/metrics`, in Prometheus' text format. It needs no token. */
export function metricsRoute(metrics: Metrics): Route {
  return {
    path: "/metrics",
    methods: {
      GET: async () => ({
        status: 200,
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
        body: await metrics.render(),
      }),
    },
  };
}
