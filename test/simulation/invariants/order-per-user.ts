import type { Post } from "../actors/history.js";
import { ownerOf } from "../model/identities.js";
import type { Invariant } from "./invariant.js";

/** Order, where it was asked for. */
export const orderPerUser: Invariant = {
  name: "order-per-user",
  promise:
    'With `order: "user"`, a message is sent only after every earlier message of its user has ended: it was taken, or no further attempt follows. A process that follows a crash begins again in order, and so do its threads when one of them dies. A replay ignores order.',
  check({ cast, messages, livesOf }) {
    const wrong: string[] = [];
    for (const destination of cast.destinations) {
      const { order, name, success } = destination.plan;
      if (order !== "user") continue;
      /** By user, run and deaths of threads: when the last of the earlier messages was done. */
      const done = new Map<string, { readonly atMs: number; readonly messageId: string }>();
      for (const stored of messages) {
        const { messageId, message } = stored;
        // Delete messages wait for nothing that their user sent before: it is gone.
        if (message.type === "delete") continue;
        for (const [run, posts] of byRun(livesOf(destination, stored)[0]?.posts ?? [])) {
          const key = `${ownerOf(message)} ${run}`;
          const before = done.get(key);
          const startedMs = Math.min(...posts.map(({ atMs }) => atMs));
          if (before !== undefined && before.messageId !== messageId && before.atMs > startedMs)
            wrong.push(
              `${messageId} was sent to ${name} at ${startedMs}, before ${before.messageId} was done at ${before.atMs}`,
            );
          const atMs = doneAtMs(posts, success);
          if (atMs >= (before?.atMs ?? 0)) done.set(key, { atMs, messageId });
        }
      }
    }
    return wrong;
  },
};

function byRun(posts: readonly Post[]): Map<string, Post[]> {
  const runs = new Map<string, Post[]>();
  for (const post of posts) {
    const run = `${post.run} ${post.deaths}`;
    runs.set(run, [...(runs.get(run) ?? []), post]);
  }
  return runs;
}

/** With `any`, the other requests go on after one URL took the message. */
function doneAtMs(posts: readonly Post[], success: "any" | "each"): number {
  const taken = posts.filter(({ ended }) => ended?.what === "200");
  const ends = (success === "any" && taken.length > 0 ? taken : posts).map(
    ({ ended }) => ended?.atMs ?? Number.POSITIVE_INFINITY,
  );
  return success === "any" && taken.length > 0 ? Math.min(...ends) : Math.max(...ends);
}
