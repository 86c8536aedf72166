import type { Invariant } from "./invariant.js";

/** Requests per round that may go on after another URL has accepted the message. */
const LATE_PER_ROUND = 4;

/** What is under way is bounded. */
export const boundedConcurrency: Invariant = {
  name: "bounded-concurrency",
  promise:
    "A destination never has more messages under way than its `concurrency`, and at most four requests for each that go on after another URL took the message.",
  check({ cast }) {
    const wrong: string[] = [];
    for (const destination of cast.destinations) {
      for (const url of destination.urls) {
        const changes: { readonly atMs: number; readonly by: number; readonly run: number }[] = [];
        for (const post of cast.history.posts) {
          if (post.url !== url || post.ended === undefined) continue;
          changes.push({ atMs: post.atMs, by: 1, run: post.run });
          changes.push({ atMs: post.ended.atMs, by: -1, run: post.run });
        }
        changes.sort((a, b) => a.atMs - b.atMs || a.by - b.by);
        // A process that was replaced may still wait for an answer when the next one begins.
        const underWay = new Map<number, number>();
        let most = 0;
        for (const { by, run } of changes) {
          underWay.set(run, (underWay.get(run) ?? 0) + by);
          most = Math.max(most, underWay.get(run) ?? 0);
        }
        const { concurrency, urls, success } = destination.plan;
        const bound = urls > 1 && success === "any" ? concurrency * (1 + LATE_PER_ROUND) : concurrency;
        if (most > bound) wrong.push(`${url} had ${most} requests under way; at most ${bound} may be`);
      }
    }
    return wrong;
  },
};
