import { type Collector, startCollector } from "./collector.js";
import type { CollectorOptions } from "./collector-options.js";
import type { CollectorConfig } from "./process/settings.js";

/** A collector that was started from a configuration: on its own, or as a part of a cluster. */
export interface ConfiguredCollector extends Omit<Collector, "store"> {
  /** Rejects if it must end. Absent: that cannot happen. */
  readonly failed?: Promise<never>;
}

/**
 * Starts the collector that the configuration describes. `options`: those of `collectorOptions`, with changes. `signal` ends the waiting for
 * the NATS servers of a cluster.
 */
export async function startConfigured(
  config: CollectorConfig,
  options: CollectorOptions,
  signal?: AbortSignal,
): Promise<ConfiguredCollector> {
  if (config.clusterServers.length === 0) return startCollector(options);
  // A collector that runs on its own never loads it.
  const { startConfiguredNode } = await import("./cluster/configured-node.js");
  return startConfiguredNode(config, options, startCollector, signal);
}
