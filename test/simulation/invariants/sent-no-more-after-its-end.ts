import type { FinishedRun, Invariant } from "./invariant.js";

/** Answers after which a URL is not asked again. */
const FINAL = new Set(["200", "400", "404", "501"]);

/** Duplicates: only what a crash left without a stored result is sent again. */
export const sentNoMoreAfterItsEnd: Invariant = {
  name: "sent-no-more-after-its-end",
  promise:
    "A message is not sent again once its result is on disk, unless it is replayed. Without a crash, also across a stop in order, no URL that took a message or refused it for good gets it twice, unless its answer was lost.",
  check(finished) {
    const { cast, messages, livesOf } = finished;
    const { stored } = cast.history;
    const wrong: string[] = [];
    for (const destination of cast.destinations) {
      for (const message of messages) {
        const { offset, messageId } = message;
        for (const [replays, { posts, outcomes }] of livesOf(destination, message).entries()) {
          const endMs = outcomes[0]?.atMs ?? Number.POSITIVE_INFINITY;
          /** URL, run and deaths of threads before each post that the collector knows to be accepted, or refused for good. */
          const known = new Set<string>();
          for (const { url, run, deaths, atMs, ended } of posts) {
            const doneMs = stored.doneAtMs(destination.id, offset, url, replays) ?? Number.POSITIVE_INFINITY;
            if (atMs > Math.min(endMs, doneMs))
              wrong.push(`${messageId} was sent to ${url} at ${atMs}, after its result was stored`);
            else if (known.has(`${url} ${firstOf(run, finished)} ${deaths}`))
              wrong.push(`${messageId} was sent to ${url} at ${atMs}, although it had answered for good`);
            if (FINAL.has(ended?.what ?? "")) known.add(`${url} ${firstOf(run, finished)} ${deaths}`);
          }
        }
      }
    }
    return wrong;
  },
};

/** The run since which everything that was known was stored: one that stops in order stores it, if its disk works. */
function firstOf(run: number, { scenario, cast: { history, cluster } }: FinishedRun): number {
  if (cluster !== undefined || scenario.steps.some(({ kind }) => kind === "disk")) return run;
  let first = run;
  while (history.runs[first - 2]?.ended?.how === "stop") first -= 1;
  return first;
}
