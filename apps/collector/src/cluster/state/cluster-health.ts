import type { ClusterMemberView, ClusterRole } from "@sluice/control-api";
import type { EngineHealth } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Health } from "../../http/health-routes.js";
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

export interface HealthFacts {
  /** Whether a process takes requests as the owner, as far as this one knows. */
  readonly hasOwner: boolean;
  /** Time without an owner, by the monotonic clock. */
  readonly ownerlessMs: number;
  readonly engine: EngineHealth;
  /** Time since the engine's state changed. */
  readonly engineMs: number;
  /** The engine is connected and does not answer: most of its servers are away, or they have no leader. Undefined: it answers. */
  readonly unanswered?: { readonly ms: number } | undefined;
  /** Why it is not safe to acknowledge; undefined: it is. */
  readonly unsafe: string | undefined;
}

/** A takeover is no reason to take every process out of the load balancer: requests wait meanwhile. */
const PATIENCE_MS = 10_000;

/** The part that clients may read. The log has the reasons, which name addresses. */
export const ENGINE_AWAY = "the NATS servers cannot be reached";
const ENGINE_UNSAFE = "the NATS servers may lose acknowledged messages";
export const ENGINE_SILENT = "the NATS servers do not answer, so most of them may be away";

/** Whether requests that this process passes on are answered. */
export function passingHealth(ownerSilentMs: number): Health {
  if (ownerSilentMs <= PATIENCE_MS) return { kind: "ready" };
  return {
    kind: "unavailable",
    reason: "the owner does not answer this process: the network between them may be cut",
  };
}

/** Whether this process can answer requests, here or by passing them on. */
export function clusterHealth({
  hasOwner,
  ownerlessMs,
  engine,
  engineMs,
  unanswered,
  unsafe,
}: HealthFacts): Health {
  if (unsafe !== undefined) return { kind: "unavailable", reason: ENGINE_UNSAFE };
  if (engine.kind === "disconnected" && engineMs > PATIENCE_MS)
    return { kind: "unavailable", reason: ENGINE_AWAY };
  if (unanswered !== undefined && unanswered.ms > PATIENCE_MS)
    return { kind: "unavailable", reason: ENGINE_SILENT };
  if (!hasOwner && ownerlessMs > PATIENCE_MS)
    return { kind: "unavailable", reason: "no process owns the log" };
  return { kind: "ready" };
}
