import type { ClusterMemberView, ClusterRole } from "@sluice/control-api";
import { formatTime } from "@sluice/protocol";
import type { Member, MemberFacts } from "./membership/member.js";
import type { LeaseHolder } from "./ownership/lease.js";

export const ROLES: Readonly<Record<MemberFacts["role"], ClusterRole>> = {
  following: "follower",
  starting: "starting",
  leading: "owner",
  ending: "ending",
};

/** What a process with several partitions does, in the order of what matters. */
export const BUSIEST: readonly MemberFacts["role"][] = ["leading", "starting", "ending", "following"];

/** A partition's lease, as far as it has a holder. */
export interface HeldLease {
  readonly partition: number;
  readonly holder: Pick<LeaseHolder, "instance" | "phase">;
}

/** A process that missed so many heartbeats is shown as silent. It counts as alive for one more, because moving partitions costs more. */
const SILENT_BEATS = 3;

/** A process as users see it. Who owns what is in the leases: a process that was killed cannot say any more that it owns nothing. */
export function memberView(member: Member, leases: readonly HeldLease[]): ClusterMemberView {
  const { node, address, version, isReady, isDrained, applied, behindEntries, problem } = member;
  const held = leases.filter(({ holder }) => holder.instance === member.instance);
  const phases = held.map(({ holder }) => holder.phase);
  const role = BUSIEST.find((one) => phases.some((phase) => phase === one));
  // A live owner says at once that it has lost its last partition.
  const isLost = member.role === "leading" && role === undefined && member.missedBeats > 0;
  return {
    ...{ node, address, version, isReady, isDrained, applied, behindEntries },
    isAlive: member.isAlive && member.missedBeats < SILENT_BEATS && !isLost,
    startedAt: formatTime(member.startedAtMs),
    role: ROLES[role ?? (member.role === "ending" ? "ending" : "following")],
    owns: held.filter(({ holder }) => holder.phase === "leading").map(({ partition }) => partition),
    behindMs: Math.round(member.behindMs),
    heardMsAgo: Math.round(member.silentMs),
    ...(problem === undefined ? {} : { problem }),
  };
}
