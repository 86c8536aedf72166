import type { ClusterMemberView, ClusterRole } from "@sluice/control-api";
import { formatTime } from "@sluice/protocol";
import type { Member, MemberFacts } from "../membership/member.js";
import type { LeaseHolder } from "../ownership/lease.js";

export const ROLES: Readonly<Record<MemberFacts["role"], ClusterRole>> = {
  following: "follower",
  starting: "starting",
  leading: "owner",
  ending: "ending",
};

/** A process that missed so many heartbeats is shown as silent. It counts as alive for one more, because a takeover costs more. */
const SILENT_BEATS = 3;

/** A process as users see it. The owner is read from the lease, because a killed process cannot report that it owns nothing. */
export function memberView(
  member: Member,
  owner: Pick<LeaseHolder, "instance" | "phase"> | undefined,
): ClusterMemberView {
  const { node, address, version, isReady, isDrained, applied, behindEntries, problem } = member;
  const role = owner?.instance === member.instance ? owner.phase : undefined;
  // A live owner says at once that it has lost the log.
  const isLost = member.role === "leading" && role === undefined && member.missedBeats > 0;
  return {
    ...{ node, address, version, isReady, isDrained, applied, behindEntries },
    isAlive: member.isAlive && member.missedBeats < SILENT_BEATS && !isLost,
    startedAt: formatTime(member.startedAtMs),
    role: ROLES[role ?? (member.role === "ending" ? "ending" : "following")],
    behindMs: Math.round(member.behindMs),
    heardMsAgo: Math.round(member.silentMs),
    ...(problem === undefined ? {} : { problem }),
  };
}
