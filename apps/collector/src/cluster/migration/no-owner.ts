import type { Leases } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { readLease } from "../ownership/lease.js";
import { ownerKey } from "../ownership/owner-key.js";
import { CannotMigrate } from "./cannot-migrate.js";

export interface NoOwnerOptions {
  readonly leases: Leases;
  readonly cluster: string;
  readonly partitions: number;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Waits until it is certain that nobody renews the lease of any partition's owner. Resolves with a function that rejects if a process has
 * become an owner since.
 */
export async function checkNoOwner({
  leases,
  cluster,
  partitions,
  leaseMs,
  clock,
  signal,
}: NoOwnerOptions): Promise<() => Promise<void>> {
  const read = () =>
    Promise.all(Array.from({ length: partitions }, (_, partition) => leases.get(ownerKey(partition))));
  const before = await read();
  const holders = before.map((found) => found && readLease(found).holder);
  if (holders.some((holder) => holder !== undefined)) await clock.sleep(leaseMs, signal);
  const now = await read();
  for (const [partition, found] of now.entries()) {
    if (found?.revision === before[partition]?.revision) continue;
    const holder = (found && readLease(found).holder) ?? holders[partition];
    const who = holder === undefined ? "A collector" : `The collector "${holder.node}" at ${holder.address}`;
    throw new CannotMigrate(
      `${who} owns the cluster "${cluster}". Stop all collectors of the cluster, and run the command again`,
    );
  }
  return async () => {
    const after = await read();
    if (after.every((found, partition) => found?.revision === now[partition]?.revision)) return;
    throw new CannotMigrate(
      "A collector of the cluster was started meanwhile. Stop all of them, and run the command again",
    );
  };
}
