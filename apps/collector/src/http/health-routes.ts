import type { Clock } from "@sluice/resilience";
import type { Metrics } from "../process/telemetry/metrics.js";
import type { BufferBudget } from "./body/buffer-budget.js";
import type { Route } from "./routing.js";

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
  readonly clock: Pick<Clock, "monotonic">;
  /** Default: the free space is not known. */
  readonly readDisk?: () => Promise<{ readonly freeBytes: number; readonly totalBytes: number }>;
  readonly cluster?: ClusterReadiness;
}

/** Above this share of the memory for bodies the collector is not ready, so that load balancers send requests elsewhere. */
const BUSY_SHARE = 0.8;
/** Once it is not ready, the share must fall below this one, so that it does not change with every request. */
const CALM_SHARE = 0.6;
/** After a failed write the collector is not ready until none has failed for this long: a full disk often takes a small write. */
const STEADY_MS = 10_000;
/** And until so much space is free, or this share of a small disk. */
const ROOM_BYTES = 64 * 1_024 * 1_024;
const ROOM_SHARE = 0.1;

export type Readiness = { readonly kind: "ready" } | { readonly kind: "not ready"; readonly reason: string };

/** `/healthz`: the process responds. `/readyz`: it accepts messages. Both need no token. */
export function healthRoutes(options: HealthRoutesOptions): Route[] {
  const { health, budget, metrics, cluster } = options;
  const isBusy = busyMemory(budget);
  const storageFailure = unsteadyStorage(options);
  const whole = async (): Promise<Readiness> => {
    const failure = await storageFailure();
    if (failure !== undefined) return { kind: "not ready", reason: `storage_unavailable: ${failure}` };
    if (isBusy()) return { kind: "not ready", reason: "overloaded" };
    const ofCluster = cluster?.health();
    return ofCluster?.kind === "unavailable"
      ? { kind: "not ready", reason: ofCluster.reason }
      : { kind: "ready" };
  };
  metrics.gauges("sluice_ready", "1 while the collector accepts requests", [], async () => [
    [[], (await whole()).kind === "ready" ? 1 : 0],
  ]);
  metrics.gauge("sluice_store_available", "1 while the store accepts writes", () =>
    health().kind === "ready" ? 1 : 0,
  );
  return [
    { path: "/healthz", methods: { GET: () => ({ status: 200, body: { status: "ok" } }) } },
    {
      path: "/readyz",
      methods: {
        GET: async () => {
          const now = await whole();
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

function busyMemory(budget: Pick<BufferBudget, "usedBytes" | "maxBytes">): () => boolean {
  let wasBusy = false;
  return () => {
    wasBusy = budget.usedBytes / budget.maxBytes > (wasBusy ? CALM_SHARE : BUSY_SHARE);
    return wasBusy;
  };
}

/** Why the store counts as not writable, or undefined. Between two questions, refused requests show that a write has failed. */
function unsteadyStorage({ health, metrics, clock, readDisk }: HealthRoutesOptions) {
  let failed: { readonly reason: string; readonly atMs: number } | undefined;
  let refusedBefore = 0;
  return async (): Promise<string | undefined> => {
    const refused = await storageRefusals(metrics);
    const atMs = clock.monotonic();
    const now = health();
    if (now.kind === "unavailable") failed = { reason: now.reason, atMs };
    else if (refused > refusedBefore) failed = { reason: failed?.reason ?? "writes fail now and then", atMs };
    refusedBefore = refused;
    if (failed === undefined) return undefined;
    if (atMs - failed.atMs >= STEADY_MS) {
      const disk = await readDisk?.().catch(() => undefined);
      if (disk === undefined || disk.freeBytes >= Math.min(ROOM_BYTES, disk.totalBytes * ROOM_SHARE))
        failed = undefined;
    }
    return failed?.reason;
  };
}

async function storageRefusals(metrics: Metrics): Promise<number> {
  const samples = await metrics.read("sluice_ingest_refused_requests_total");
  return samples.find(({ labels }) => labels.code === "storage_unavailable")?.value ?? 0;
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
