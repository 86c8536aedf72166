import type { Leases } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { OWNER_KEY, readLease } from "../ownership/lease.js";
import { CannotMigrate } from "./cannot-migrate.js";

export interface NoOwnerOptions {
  readonly leases: Leases;
  readonly cluster: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Waits until it is certain that nobody renews the owner's lease. Resolves with a function that rejects if a process has become the owner
 * since.
 */
export async function checkNoOwner({
  leases,
  cluster,
  leaseMs,
  clock,
  signal,
}: NoOwnerOptions): Promise<() => Promise<void>> {
  const read = () => leases.get(OWNER_KEY);
  const before = await read();
  const holder = before && readLease(before).holder;
  if (holder !== undefined) await clock.sleep(leaseMs, signal);
  const now = await read();
  if (now?.revision !== before?.revision) {
    const owner = (now && readLease(now).holder) ?? holder;
    const who = owner === undefined ? "A collector" : `The collector "${owner.node}" at ${owner.address}`;
    throw new CannotMigrate(
      `${who} owns the cluster "${cluster}". Stop all collectors of the cluster, and run the command again`,
    );
  }
  return async () => {
    if ((await read())?.revision === now?.revision) return;
    throw new CannotMigrate(
      "A collector of the cluster was started meanwhile. Stop all of them, and run the command again",
    );
  };
}
