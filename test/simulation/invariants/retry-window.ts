import type { History } from "../actors/history.js";
import type { Invariant } from "./invariant.js";

/** A stop of the collector counts at most this much towards a window. */
const MOST_DOWNTIME_MS = 15 * 60_000;
/** How often a store notes the time while retries wait. */
const NOTED_EVERY_MS = 60_000;

/** No attempt starts after the retry window, which begins with the first attempt and is never begun again. */
export const retryWindow: Invariant = {
  name: "retry-window",
  promise:
    "No attempt starts after the retry window. The window begins with the first attempt, for a replay anew; neither restarts nor clocks that are set begin it again.",
  check({ cast, messages, livesOf }) {
    const { stored } = cast.history;
    const wrong: string[] = [];
    for (const destination of cast.destinations) {
      for (const message of messages) {
        const { offset, messageId } = message;
        for (const [replays, { posts: all }] of livesOf(destination, message).entries()) {
          const run = stored.runOfFirstRetry(destination.id, offset, replays);
          const posts = all.filter((post) => run !== undefined && post.run >= run);
          const [begin] = posts;
          if (begin === undefined) continue;
          for (const post of posts) {
            const agedMs = post.atMs - begin.atMs - forgivenMs(cast.history, begin.atMs, post.atMs);
            if (agedMs > destination.plan.retryForMs)
              wrong.push(
                `${messageId} was sent to ${post.url} ${agedMs} ms after its first attempt; the window is ${destination.plan.retryForMs} ms`,
              );
          }
        }
      }
    }
    return wrong;
  },
};

/**
 * The time between two true times that does not count towards a window. While the collector runs, all of it counts. A restart compares its
 * clock with the last time that is stored, which is at most a minute before the last request: more than 15 minutes since then are
 * forgiven, and all of it if the clock shows an earlier time.
 */
function forgivenMs({ runs, posts }: History, fromMs: number, untilMs: number): number {
  let forgiven = 0;
  for (const [index, run] of runs.entries()) {
    const before = runs[index - 1];
    if (before?.ended === undefined || before.ended.atMs < fromMs || run.startedAtMs > untilMs) continue;
    const lastPostMs = posts.findLast((post) => post.run === index)?.atMs ?? before.startedAtMs;
    const lastMs = Math.max(before.startedAtMs, lastPostMs - NOTED_EVERY_MS);
    const passedMs = run.startedAtMs - lastMs;
    const shownMs = run.startedMonotonicMs - (before.startedMonotonicMs + lastMs - before.startedAtMs);
    const counted = shownMs < 0 ? 0 : Math.min(shownMs, MOST_DOWNTIME_MS);
    forgiven += Math.max(0, passedMs - counted);
  }
  return forgiven;
}
