import type { ClusterMemberView, ClusterRole } from "@sluice/control-api";
import { duration } from "../../words/numbers.js";
import type { Tone } from "../../words/states.js";

export const ROLES: Readonly<Record<ClusterRole, string>> = {
  owner: "Owner",
  starting: "Becoming the owner",
  ending: "Handing over",
  follower: "Follower",
};

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
