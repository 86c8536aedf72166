import type { Leases } from "@sluice/event-log";

/** The key of the record of a cluster's partitions. */
const KEY = "partitions";
const FORMAT = 1;

/** How many partitions a cluster has, and whether all of their logs were made. */
export interface PartitionCount {
  readonly count: number;
  readonly areMade: boolean;
  /** `sluice migrate` moves data into the cluster, and has not finished. No process may begin an empty log. */
  readonly isMoving?: boolean;
}

/**
 * The number of partitions of the cluster: `wanted` for a new one. It is stored by the process that comes first and never changes, so this
 * rejects if the cluster has another one.
 */
export async function agreeOnPartitions(
  leases: Leases,
  cluster: string,
  wanted: number,
  /** Whether a process of a version without this record used the cluster. */
  isOlder: () => Promise<boolean>,
): Promise<PartitionCount> {
  for (;;) {
    const found = await leases.get(KEY);
    if (found !== undefined) {
      return usable(read(found.value), cluster, wanted);
    }
    if (await isOlder()) {
      if (wanted !== 1) throw anotherNumber(cluster, 1, wanted);
      return { count: 1, areMade: true };
    }
    // A cluster of one partition looks as it always did.
    if (wanted === 1) return { count: 1, areMade: true };
    const made = { count: wanted, areMade: false };
    if ((await leases.put(KEY, write(made), undefined)) !== undefined) return made;
  }
}

function usable(stored: PartitionCount, cluster: string, wanted: number): PartitionCount {
  if (stored.count !== wanted) throw anotherNumber(cluster, stored.count, wanted);
  if (stored.isMoving === true)
    throw new Error(
      `A migration into the cluster "${cluster}" is not finished. Run the same \`sluice migrate\` again, and start the collectors then`,
    );
  return stored;
}

/** How many partitions an existing cluster has. */
export async function storedPartitions(leases: Leases): Promise<number> {
  const found = await leases.get(KEY);
  return found === undefined ? 1 : read(found.value).count;
}

/**
 * Notes that a migration into the cluster has begun, so that no process starts until it has ended. Resolves with "in use" if the cluster
 * has data already that no unfinished migration brought. Rejects if the cluster has another number of partitions.
 */
export async function beginMove(
  leases: Leases,
  {
    cluster,
    wanted,
    isBegun,
  }: {
    readonly cluster: string;
    readonly wanted: number;
    /** Whether the first partition's log was ever written to. */
    readonly isBegun: boolean;
  },
): Promise<"begun" | "in use"> {
  for (;;) {
    const found = await leases.get(KEY);
    const stored = found === undefined ? undefined : read(found.value);
    const count = stored?.count ?? (isBegun ? 1 : wanted);
    if (count !== wanted) throw anotherNumber(cluster, count, wanted);
    if (stored?.isMoving === true) return "begun";
    if (isBegun) return "in use";
    const moving = { count: wanted, areMade: stored?.areMade ?? false, isMoving: true };
    if ((await leases.put(KEY, write(moving), found?.revision)) !== undefined) return "begun";
  }
}

/** Ends what `beginMove` has begun. `areMade`: the logs of all partitions exist. */
export async function endMove(leases: Leases, areMade: boolean): Promise<void> {
  const found = await leases.get(KEY);
  if (found === undefined) return;
  const { count, areMade: wereMade } = read(found.value);
  const revision = await leases.put(KEY, write({ count, areMade: areMade || wereMade }), found.revision);
  if (revision === undefined)
    throw new Error("the record of the cluster's partitions was changed meanwhile: run the command again");
}

/** Stores that the logs of all partitions exist: from now on, one that is missing was lost. */
export async function markPartitionsMade(leases: Leases): Promise<void> {
  const found = await leases.get(KEY);
  if (found === undefined) return;
  const stored = read(found.value);
  if (!stored.areMade) await leases.put(KEY, write({ ...stored, areMade: true }), found.revision);
}

function read(value: string): PartitionCount {
  const { format, count, areMade, isMoving } = JSON.parse(value) as PartitionCount & {
    readonly format: number;
  };
  if (format !== FORMAT)
    throw new Error(
      `The record of the cluster's partitions has format ${format}, and this version of Sluice knows format ${FORMAT}: upgrade this process`,
    );
  return { count, areMade, ...(isMoving === true ? { isMoving } : {}) };
}

function write(partitions: PartitionCount): string {
  return JSON.stringify({ format: FORMAT, ...partitions });
}

function anotherNumber(cluster: string, count: number, wanted: number): Error {
  return new Error(
    `The cluster "${cluster}" has ${count} partition${count === 1 ? "" : "s"}, and clusterPartitions is ${wanted}. The number is fixed when a cluster is made: set clusterPartitions (SLUICE_CLUSTER_PARTITIONS) to ${count}, or make a cluster with another clusterName`,
  );
}
