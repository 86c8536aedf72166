import type { Leases } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { OWNER_KEY, readLease } from "./ownership/lease.js";

export interface ComparedContent {
  readonly what: string;
  readonly source: { readonly count: number; readonly checksum: string };
  readonly result: { readonly count: number; readonly checksum: string };
  readonly isEqual: boolean;
}

/** The command cannot do what was asked. The message says why, and what to do. */
export class CannotMigrate extends Error {
  override readonly name = "CannotMigrate";
  /** The compared values, if the result differs from the source. */
  readonly contents: readonly ComparedContent[];

  constructor(message: string, contents: readonly ComparedContent[] = [], cause?: unknown) {
    super(message, { cause });
    this.contents = contents;
  }
}

interface NoOwnerOptions {
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
