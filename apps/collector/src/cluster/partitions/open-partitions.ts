import { join } from "node:path";
import type { openReplica, Replica, RetentionOptions } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { defined } from "../../process/defined.js";
import type { Stages } from "../../process/stages.js";
import type { Logger } from "../../process/telemetry/logger.js";
import type { ClusterCounts } from "../cluster-counts.js";
import type { ClusterEngine } from "../cluster-options.js";
import { ownerKey } from "../ownership/owner-key.js";
import { agreeOnPartitions, markPartitionsMade } from "./partition-count.js";

/** The engine and the copy of one partition. */
export interface OpenedPartition {
  readonly engine: ClusterEngine;
  readonly replica: Replica;
}

/** Asks the engine, and again while it cannot be reached. `drop` takes what comes when nobody waits any more. */
export type Waiting = <T>(ask: () => Promise<T>, drop?: (late: T) => unknown) => Promise<T>;

export const closeEngine = (engine: ClusterEngine): Promise<void> => engine.close();

export interface OpenPartitionsParts {
  readonly stages: Stages;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counts: ClusterCounts;
  readonly cluster: string;
  readonly node: string;
  readonly dataDirectory: string;
  readonly retention: RetentionOptions;
  readonly dedupeWindowMs: number | undefined;
  /** That of the control partition. */
  readonly engine: ClusterEngine;
  readonly waiting: Waiting;
  readonly openEngine: (partition: number, isNew: boolean) => Promise<ClusterEngine>;
  readonly openReplica: typeof openReplica;
}

/** Opens the engines of all partitions but the first, which is open. Rejects if the cluster has another number of partitions. */
export async function openEngines(
  { stages, engine, cluster, waiting, openEngine }: OpenPartitionsParts,
  wanted: number,
): Promise<readonly ClusterEngine[]> {
  const isOlder = async (): Promise<boolean> => (await engine.leases.get(ownerKey(0))) !== undefined;
  const { count, areMade } = await waiting(() => agreeOnPartitions(engine.leases, cluster, wanted, isOlder));
  const engines = [engine];
  for (let partition = 1; partition < count; partition++) {
    const opened = await waiting(() => openEngine(partition, !areMade), closeEngine);
    engines.push(stages.keep(opened, closeEngine));
  }
  if (!areMade) await waiting(() => markPartitionsMade(engine.leases));
  return engines;
}

/** Opens this process's copies. */
export async function openReplicas(
  parts: OpenPartitionsParts,
  engines: readonly ClusterEngine[],
): Promise<readonly OpenedPartition[]> {
  const { stages, clock, logger, counts, node, dataDirectory } = parts;
  const retention = shareOf(parts.retention, engines.length);
  const opened: OpenedPartition[] = [];
  for (const [partition, engine] of engines.entries()) {
    const about = engines.length === 1 ? {} : { partition };
    const replica = await parts.openReplica({
      ...{ directory: folderOf(dataDirectory, partition), engine, clock, node, retention },
      ...defined({ dedupeWindowMs: parts.dedupeWindowMs }),
      onDamage: (what) => logger.error("stored data is damaged", { what, ...about }),
      onProblem(what, againAfterMs) {
        if (againAfterMs !== undefined) counts.add("sluice_cluster_copy_load_failures_total");
        logger.warn("the copy does not follow the log", { what, againAfterMs, ...about });
      },
    });
    stages.keep(replica, (it) => it.close());
    opened.push({ engine, replica });
  }
  return opened;
}

/** The copy of the first partition is where it is in a cluster of one. */
function folderOf(dataDirectory: string, partition: number): string {
  return partition === 0 ? dataDirectory : join(dataDirectory, `partition-${partition}`);
}

/** Each partition may use its part of the disk space. */
export function shareOf(retention: RetentionOptions, count: number): RetentionOptions {
  const { maxBytes } = retention;
  return maxBytes === undefined ? retention : { ...retention, maxBytes: Math.floor(maxBytes / count) };
}
