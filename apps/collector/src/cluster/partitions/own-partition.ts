import type { Leases } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { ClusterState } from "../cluster-state.js";
import type { Membership } from "../membership/membership.js";
import { precedenceMs, reasonToMove } from "../ownership/balance.js";
import { ownerKey } from "../ownership/owner-key.js";
import { Ownership } from "../ownership/ownership.js";
import { balanceFacts } from "./balance-facts.js";
import { type LeadParts, leadPartition } from "./lead-partition.js";
import type { Partition } from "./partition.js";

export interface OwnPartitionParts {
  readonly leases: Leases;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly state: ClusterState;
  readonly membership: Membership;
  readonly leading: LeadParts;
  readonly self: { readonly node: string; readonly instance: string; readonly address: string };
  readonly problem: (what: string, error: unknown) => void;
  readonly onChange: () => void;
}

/** Takes part in owning a partition. */
export function ownPartition(partition: Partition, parts: OwnPartitionParts): Ownership {
  const { leases, clock, leaseMs, state, membership, leading, self, problem, onChange } = parts;
  const { length: partitions } = state.partitions;
  const { number } = partition;
  const balance = () =>
    balanceFacts({
      ...{ membership, leaseMs, node: self.node },
      ownerships: state.partitions.map(({ ownership }) => ownership),
    });
  return new Ownership({
    ...{ leases, key: ownerKey(number), clock, leaseMs, self },
    ...{ partitions, heartbeatMs: leaseMs / 3, onChange },
    facts: () => ({
      isReady: partition.isReady,
      isDrained: membership.isDrained(self.node),
      hasSuccessor: state.hasSuccessor(),
      ...(partitions === 1
        ? {}
        : {
            precedenceMs: precedenceMs(balance(), number),
            moveReason: reasonToMove(balance(), number),
          }),
    }),
    lead: (term, lost, signal) => leadPartition(leading, { partition, term, lost, signal }),
    onStepDown: (how, reason) => reportStepDown(leading, partition, how, reason),
    onProblem: problem,
  });
}

function reportStepDown(
  { counts, logger, several }: LeadParts,
  { number }: Partition,
  how: "lost" | "hand over",
  reason: string,
): void {
  counts.add("sluice_cluster_step_downs_total", how);
  const fields = { how, reason, ...(several === undefined ? {} : { partition: number }) };
  if (how === "lost") logger.warn("stops being the owner", fields);
  else logger.info("stops being the owner", fields);
}
