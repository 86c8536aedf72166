import { CLUSTER_IS_SLOWER_BY } from "../actors/cluster-node.js";
import type { Invariant } from "./invariant.js";

/** An owner without a connection to the engine stops by itself after 12 seconds; then its requests under way end. */
const STOPS_WITHIN_MS = 15_000 * CLUSTER_IS_SLOWER_BY;

/** An owner that was replaced. */
export const replacedOwnerStops: Invariant = {
  name: "replaced-owner-stops",
  promise:
    "A process that another one has replaced as the owner of a cluster sends nothing any more after 12 seconds, even if it cannot know.",
  check({ cast }) {
    const { runs, postsOfReplaced } = cast.history;
    return postsOfReplaced.flatMap(({ run, url, messageId, atMs }) => {
      const lateMs = atMs - (runs[run - 1]?.ended?.atMs ?? 0);
      return lateMs > STOPS_WITHIN_MS
        ? [`${messageId} was sent to ${url} ${lateMs} ms after its owner had been replaced`]
        : [];
    });
  },
};
