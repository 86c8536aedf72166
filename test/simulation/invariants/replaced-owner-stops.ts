import { CLUSTER_IS_SLOWER_BY } from "../actors/cluster-node.js";
import type { Post } from "../actors/history.js";
import type { Cast } from "../scenario/cast.js";
import type { Invariant } from "./invariant.js";

/** An owner stops 12 seconds after it began the last renewal that succeeded. It looks every second. */
const STOPS_WITHIN_MS = 13_000 * CLUSTER_IS_SLOWER_BY;
/** The news of another owner, and the end of its stages. */
const TOLD_WITHIN_MS = 1_000;

/** An owner that was replaced. */
export const replacedOwnerStops: Invariant = {
  name: "replaced-owner-stops",
  promise:
    "A process that another one has replaced as the owner of a cluster sends nothing any more: at once if it can reach the engine, and otherwise 12 seconds after it last could.",
  check({ cast }) {
    return cast.history.postsOfReplaced.flatMap((post) => {
      const latestMs = stopsAtMs(post, cast);
      const { url, messageId, atMs } = post;
      return atMs > latestMs
        ? [
            `${messageId} was sent to ${url} ${atMs - latestMs} ms after its owner, which was replaced, had to stop`,
          ]
        : [];
    });
  },
};

function stopsAtMs({ run }: Post, { history, cluster }: Cast): number {
  const { node: name, ended } = history.runs[run - 1] ?? {};
  const replacedMs = ended?.atMs ?? 0;
  const network = cluster?.nodes.find((node) => node.name === name)?.network;
  if (network?.fair.isGood(replacedMs, replacedMs + TOLD_WITHIN_MS) === true)
    return replacedMs + TOLD_WITHIN_MS;
  // If some requests arrive, the last renewal may have been just before.
  const lostMs = network?.reachable.badSince(replacedMs) ?? replacedMs;
  return Math.max(lostMs + STOPS_WITHIN_MS, replacedMs + TOLD_WITHIN_MS);
}
