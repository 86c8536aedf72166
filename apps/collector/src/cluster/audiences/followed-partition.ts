import type { FollowedPartition } from "@sluice/audiences";
import { type Replica, SUPPRESSION, type SuppressionDocument } from "@sluice/event-log";

type ReadReplica = Pick<Replica, "log" | "status" | "caughtUp" | "documents">;

/** Another partition, as the audiences of partition 0 read it: from this process's copy, whoever owns it. */
export function followedPartition(partition: number, replica: ReadReplica): FollowedPartition {
  const { log } = replica;
  return {
    ...{ partition, log },
    isReadable: () => log.isComplete,
    isCurrent() {
      const { applied, last, problem } = replica.status();
      return applied >= last && problem === undefined;
    },
    caughtUp: (signal) => replica.caughtUp(signal),
    get documentChanges() {
      return log.documentChanges;
    },
    suppressions: () => replica.documents<SuppressionDocument>(SUPPRESSION),
  };
}
