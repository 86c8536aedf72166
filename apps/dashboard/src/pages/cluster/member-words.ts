import type { ClusterMemberView, ClusterRole, ClusterView } from "@sluice/control-api";
import { duration } from "../../words/numbers.js";
import type { Tone } from "../../words/states.js";

const ROLES: Readonly<Record<ClusterRole, string>> = {
  owner: "Owner",
  starting: "Becoming the owner",
  ending: "Handing over",
  follower: "Follower",
};

/** Whether the page names partitions: with one, the owner of it is the owner of everything. */
export function hasSeveralPartitions({ partitions }: Pick<ClusterView, "partitions">): boolean {
  return partitions.length > 1;
}

/** With several partitions, an owner's partitions are named. */
export function roleOf({ role, owns }: Pick<ClusterMemberView, "role" | "owns">, isDivided: boolean): string {
  return isDivided && owns.length > 0 ? `${ROLES[role]} of ${owns.join(", ")}` : ROLES[role];
}

/** What is known of a process, in words. */
export function stateOf({
  isAlive,
  isReady,
  isDrained,
  heardMsAgo,
}: Pick<ClusterMemberView, "isAlive" | "isReady" | "isDrained" | "heardMsAgo">): {
  readonly tone: Tone;
  readonly text: string;
} {
  if (!isAlive) return { tone: "bad", text: `Silent for ${duration(heardMsAgo)}` };
  if (!isReady) return { tone: "wait", text: "Not ready" };
  return isDrained ? { tone: "quiet", text: "Drained" } : { tone: "good", text: "Ready" };
}
