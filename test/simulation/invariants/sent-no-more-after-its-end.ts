import type { Invariant } from "./invariant.js";

/** Answers after which a URL is not asked again. */
const FINAL = new Set(["200", "400", "404", "501"]);

/** Duplicates: only what a crash left without a stored result is sent again. */
export const sentNoMoreAfterItsEnd: Invariant = {
  name: "sent-no-more-after-its-end",
  promise:
    "A message is not sent again once its result is on disk, unless it is replayed. Without a crash, no URL that took a message or refused it for good gets it twice, unless its answer was lost.",
  check({ cast, messages, livesOf }) {
    const { stored } = cast.history;
    const wrong: string[] = [];
    for (const destination of cast.destinations) {
      for (const message of messages) {
        const { offset, messageId } = message;
        for (const [replays, { posts, outcomes }] of livesOf(destination, message).entries()) {
          const endMs = outcomes[0]?.atMs ?? Number.POSITIVE_INFINITY;
          /** URL and run of each post that the collector knows to be accepted, or refused for good. */
          const known = new Set<string>();
          for (const { url, run, atMs, ended } of posts) {
            const doneMs = stored.doneAtMs(destination.id, offset, url, replays) ?? Number.POSITIVE_INFINITY;
            if (atMs > Math.min(endMs, doneMs))
              wrong.push(`${messageId} was sent to ${url} at ${atMs}, after its result was stored`);
            else if (known.has(`${url} ${run}`))
              wrong.push(`${messageId} was sent to ${url} at ${atMs}, although it had answered for good`);
            if (FINAL.has(ended?.what ?? "")) known.add(`${url} ${run}`);
          }
        }
      }
    }
    return wrong;
  },
};
