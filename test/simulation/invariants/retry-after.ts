import {
  RETRY_DEFAULTS,
  retryPolicyFor,
} from "../../../apps/collector/src/delivery/settling/retry-schedule.js";
import type { Invariant } from "./invariant.js";

const MOST_DOWNTIME_MS = 15 * 60_000;

/** `Retry-After` is a minimum, within the window. */
export const retryAfter: Invariant = {
  name: "retry-after",
  promise:
    "After an answer with `Retry-After`, a message is not tried again before that time has passed, except for its last attempt at the end of the window, or if an administrator retries it.",
  check({ cast, messages, livesOf }) {
    const wrong: string[] = [];
    for (const destination of cast.destinations) {
      if (destination.urls.length > 1) continue;
      const { windowMs, backoff } = retryPolicyFor(RETRY_DEFAULTS, destination.plan.retryForMs);
      for (const message of messages) {
        const { offset, messageId } = message;
        const hurried = cast.history.stored.hurriedOf(destination.id, offset);
        for (const { posts, replayedAtMs } of livesOf(destination, message)) {
          const [begin] = posts;
          for (const [index, { run, ended }] of posts.entries()) {
            const next = posts[index + 1];
            if (
              next === undefined ||
              next.run !== run ||
              begin === undefined ||
              ended?.retryAfter === undefined
            )
              continue;
            if (hurried.some((atMs) => atMs >= (ended?.atMs ?? 0) && atMs <= next.atMs)) continue;
            // A restart with a clock that was set forward may take this much of the window.
            const lostMs = (next.run - begin.run) * MOST_DOWNTIME_MS;
            const isLastPart = next.atMs >= (replayedAtMs ?? begin.atMs) + windowMs - lostMs - backoff.maxMs;
            if (!isLastPart && next.atMs < ended.atMs + Number(ended.retryAfter) * 1_000)
              wrong.push(
                `${messageId} was sent to ${next.url} ${next.atMs - ended.atMs} ms after Retry-After: ${ended.retryAfter}`,
              );
          }
        }
      }
    }
    return wrong;
  },
};
