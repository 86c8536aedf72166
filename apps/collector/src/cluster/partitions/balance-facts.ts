import type { Membership } from "../membership/membership.js";
import type { BalanceFacts } from "../ownership/balance.js";
import type { Ownership } from "../ownership/ownership.js";

export interface BalanceParts {
  /** One for each partition, in order. */
  readonly ownerships: readonly Pick<Ownership, "lease" | "termSeenForMs">[];
  readonly membership: Pick<Membership, "members" | "wantedOwner">;
  /** This process. */
  readonly node: string;
  readonly leaseMs: number;
}

/** Who could own partitions, and who does. */
export function balanceFacts({ ownerships, membership, node, leaseMs }: BalanceParts): BalanceFacts {
  const settledMs = Math.min(...ownerships.map(({ termSeenForMs }) => termSeenForMs));
  const candidates = membership
    .members()
    .filter(
      ({ isAlive, isReady, isDrained, behindMs }) => isAlive && isReady && !isDrained && behindMs < leaseMs,
    );
  return {
    node,
    candidates: candidates.map((member) => member.node),
    // Every live process writes its record when it sees that an owner changed. One that was lost counts as alive for some seconds more.
    heard: candidates.filter(({ silentMs }) => silentMs < settledMs).map((member) => member.node),
    held: ownerships.map(({ lease }, partition) => ({
      partition,
      node: lease?.holder?.node,
      isLeading: lease?.holder?.phase === "leading",
      wanted: membership.wantedOwner(partition),
    })),
  };
}
