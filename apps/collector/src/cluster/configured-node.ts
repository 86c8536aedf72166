import { hostname } from "node:os";
import type { Collector } from "../collector.js";
import type { CollectorOptions } from "../collector-options.js";
import { defined } from "../process/defined.js";
import type { CollectorConfig } from "../process/settings.js";
import type { ClusterOptions } from "./cluster-options.js";
import { openEngineIfThere } from "./configured-engine.js";
import { type ClusterNode, startClusterNode } from "./start-node.js";

/** Starts a process of the cluster that the configuration names, on NATS JetStream. */
export async function startConfiguredNode(
  config: CollectorConfig,
  options: CollectorOptions,
  startCollector: (options: CollectorOptions) => Promise<Collector>,
  signal: AbortSignal | undefined,
): Promise<ClusterNode> {
  const clusterOptions = clusterOptionsOf(config, signal);
  return startClusterNode({ ...options, startCollector, clusterOptions });
}

function clusterOptionsOf(config: CollectorConfig, signal: AbortSignal | undefined): ClusterOptions {
  const { clusterName: name, clusterLeaseMs: leaseMs, clusterAdvertise: advertise } = config;
  const node = config.clusterNode ?? nodeOfMachine();
  return {
    ...{ name, node, leaseMs, waitMs: config.clusterWaitMs },
    ...defined({ advertise, signal }),
    openEngine: (parts) => openEngineIfThere(config, { ...parts, connectionName: `sluice ${node}`, signal }),
  };
}

/** The name of the machine, as a name of a process. */
function nodeOfMachine(): string {
  const name = hostname()
    .replace(/[^A-Za-z0-9_-]/g, "-")
    .replace(/^[-_]+/, "")
    .slice(0, 63);
  return name === "" ? "node" : name;
}
