import type { Lease } from "./lease.js";

/** What a process knows when it decides about owning the log. All durations are by its own monotonic clock. */
export interface OwnershipView {
  /** This process, of this start. */
  readonly instance: string;
  /** The lease as last seen; undefined: there never was one. */
  readonly lease: Lease | undefined;
  /** How long this revision of the lease has been seen. */
  readonly unchangedMs: number;
  readonly own: OwnState;
  /** Its copy of the data can become the owner's. */
  readonly isReady: boolean;
  /** It is drained: others are to own the log, as long as there are any. */
  readonly isDrained: boolean;
  /** It is about to end. */
  readonly isClosing: boolean;
  /** There is another process that is alive, ready and not drained. */
  readonly hasSuccessor: boolean;
  readonly leaseMs: number;
}

export type OwnState =
  | { readonly kind: "follower" }
  /** It holds the lease. `sinceRenewalMs`: time since it began the last renewal that succeeded. */
  | { readonly kind: "holder"; readonly term: number; readonly sinceRenewalMs: number };

export type Decision =
  | { readonly kind: "wait" }
  /** Write the lease if it still has this revision; undefined: if there is none. */
  | { readonly kind: "take"; readonly expected: number | undefined; readonly term: number }
  | { readonly kind: "renew"; readonly expected: number | undefined }
  /** Stop being the owner. `lost`: at once, because another process may own the log. `hand over`: in order, then give the lease back. */
  | { readonly kind: "step down"; readonly how: "lost" | "hand over"; readonly reason: string };

/**
 * An owner that could not renew for this many lease times stops. Nobody loses by its waiting: while the engine elects a leader, no other
 * process can take the lease either, and the fence of the log refuses what an owner writes that was deposed meanwhile.
 */
const ABANDONED_AFTER_LEASES = 4;

/** A drained process waits this long for its successor, then owns the log again: a drain must not leave the cluster without an owner. */
const DRAIN_PATIENCE_LEASES = 5;

const WAIT: Decision = { kind: "wait" };

export function decide(view: OwnershipView): Decision {
  return view.own.kind === "holder" ? decideAsHolder(view, view.own) : decideAsFollower(view);
}

function decideAsHolder(
  { instance, lease, isDrained, isClosing, hasSuccessor, leaseMs }: OwnershipView,
  { term, sinceRenewalMs }: OwnState & { kind: "holder" },
): Decision {
  if (lease !== undefined && (lease.holder?.instance !== instance || lease.term !== term))
    return {
      kind: "step down",
      how: "lost",
      reason: `${lease.holder?.node ?? "another process"} took over`,
    };
  if (sinceRenewalMs > ABANDONED_AFTER_LEASES * leaseMs)
    return { kind: "step down", how: "lost", reason: `the lease was not renewed for ${sinceRenewalMs} ms` };
  if (isClosing) return { kind: "step down", how: "hand over", reason: "the process ends" };
  if (isDrained && hasSuccessor) return { kind: "step down", how: "hand over", reason: "it is drained" };
  return { kind: "renew", expected: lease?.revision };
}

function decideAsFollower(view: OwnershipView): Decision {
  const { instance, lease, unchangedMs, isReady, isDrained, isClosing, hasSuccessor, leaseMs } = view;
  const leavesItToOthers = isDrained && hasSuccessor && unchangedMs < DRAIN_PATIENCE_LEASES * leaseMs;
  if (isClosing || !isReady || leavesItToOthers) return WAIT;
  const take: Decision = { kind: "take", expected: lease?.revision, term: (lease?.term ?? 0) + 1 };
  // The answer to its own last write was lost.
  if (lease?.holder?.instance === instance) return take;
  const freeAfterMs = lease?.holder === undefined ? 0 : leaseMs;
  return unchangedMs >= freeAfterMs ? take : WAIT;
}
