import { openMemoryStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { guardMetrics } from "../admin/collector/guard-metrics.js";
import type { CollectorOptions } from "../collector-options.js";
import { bufferBudget } from "../http/body/buffer-budget.js";
import { healthRoutes, metricsRoute } from "../http/health-routes.js";
import type { HttpLimits } from "../http/limits.js";
import type { Route } from "../http/routing.js";
import { checkHosts } from "../http/routing.js";
import { defined } from "../process/defined.js";
import type { Logger } from "../process/telemetry/logger.js";
import type { Metrics } from "../process/telemetry/metrics.js";
import { openTokens } from "../tokens/tokens.js";
import type { ClusterOptions } from "./cluster-options.js";
import { type Front, openFront } from "./front/front.js";
import { passingHealth } from "./state/cluster-health.js";
import type { ClusterCounts } from "./state/cluster-metrics.js";
import type { ClusterState } from "./state/cluster-state.js";

/** What the process needs to answer requests. */
export interface FrontParts {
  readonly options: CollectorOptions & {
    readonly clusterOptions: ClusterOptions;
    readonly openFront?: typeof openFront;
  };
  readonly limits: HttpLimits;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly counts: ClusterCounts;
  readonly token: string;
}

/** What is known of the cluster: nothing until the engine is there. */
export interface Standing {
  state?: ClusterState;
  /** Why the state is not known yet. */
  reason: string;
}

/** Listens. Requests wait until the process has joined the cluster. */
export async function openNodeFront(
  { options, limits, logger, metrics, counts, token }: FrontParts,
  standing: Standing,
): Promise<Front> {
  const { clock = systemClock, clusterOptions } = options;
  const starting = { node: clusterOptions.node, role: "starting" } as const;
  const tokens = await openTokens({
    // Tokens of the control API are known to the owner.
    config: openMemoryStore({ clock }).config,
    clock,
    ...defined({ configured: options.adminToken, configuredForMetrics: options.metricsToken }),
  });
  const health = healthRoutes({
    health: () => ({ kind: "ready" }),
    budget: bufferBudget(limits.maxBufferedBytes, clock),
    metrics,
    clock,
    cluster: {
      health: () => {
        const health = standing.state?.health() ?? { kind: "unavailable", reason: standing.reason };
        return health.kind === "ready" ? passingHealth(front.ownerSilentMs) : health;
      },
      details: () => standing.state?.details() ?? starting,
    },
  });
  const scraped = guardMetrics(metricsRoute(metrics), tokens, clock);
  const operators = (host: string, isSeparate: boolean): readonly Route[] =>
    checkHosts([scraped], { listensOn: host, isSeparate, allowedHosts: options.allowedHosts ?? [] });
  const front: Front = await (options.openFront ?? openFront)({
    ...{ clock, logger, limits, metrics, token },
    public: { host: options.host, port: options.port },
    admin: options.adminListen,
    ownRoutes: (listener) => {
      if (listener === "admin") return [...health, ...operators(options.adminListen?.host ?? "", true)];
      return options.adminListen === undefined ? [...health, ...operators(options.host, false)] : health;
    },
    owner: () => standing.state?.owner() ?? { kind: "none" },
    trouble: () => standing.state?.engineTrouble,
    onPassed: (result) => counts.add("sluice_cluster_passed_requests_total", result),
  });
  front.advertise(clusterOptions.advertise ?? front.url);
  return front;
}
