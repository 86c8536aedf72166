import { ownerOf } from "../model/identities.js";
import type { CastDestination } from "../scenario/cast.js";
import type { FinishedRun, Invariant } from "./invariant.js";

/** Bulk retries and replays. */
export const replayedOnceMore: Invariant = {
  name: "replayed-once-more",
  promise:
    "A bulk retry or a replay ends, and has a result for each of its messages. It sends each message that had ended again, exactly once more, whatever crashes in between.",
  check(run) {
    const { cast, operations } = run;
    const wrong: string[] = [];
    for (const destination of cast.destinations) {
      const own = operations.filter(({ filter }) => filter?.destinationId === destination.id);
      for (const { kind, state, total, results, createdAt } of own) {
        const name = `the ${kind} of ${destination.plan.name} of ${createdAt}`;
        const { delivered, failed, discarded, skipped } = results;
        if (state === "finished" && delivered + failed + discarded + skipped !== total)
          wrong.push(`${name} has ${JSON.stringify(results)} for ${total} messages`);
        if (state !== "finished") wrong.push(`${name} is ${state}`);
      }
      wrong.push(...wrongReplays(run, destination, own.length));
    }
    return wrong;
  },
};

/** A function that throws lets a message fail before it is sent. */
function isSent(state: string, { transformation }: CastDestination): boolean {
  return state === "delivered" || (state === "failed" && transformation?.saved.has("throws at odd") !== true);
}

function wrongReplays(
  { cast, messages, livesOf, deliveryOf }: FinishedRun,
  destination: CastDestination,
  most: number,
): string[] {
  const wrong: string[] = [];
  for (const message of messages) {
    const { messageId, offset } = message;
    const replays = livesOf(destination, message).slice(1);
    if (replays.length > most)
      wrong.push(
        `${messageId} was replayed ${replays.length} times to ${destination.plan.name} by ${most} operations`,
      );
    for (const { replayedAtMs, posts, outcomes } of replays) {
      const [outcome] = outcomes;
      if (outcome === undefined) {
        const owner = ownerOf(message.message);
        const wasPurged = cast.history.purges.some(
          ({ identities, atMs }) => identities.includes(owner) && atMs >= (replayedAtMs ?? 0),
        );
        if (deliveryOf(destination, offset)?.state !== "pending" && !wasPurged)
          wrong.push(`the replay of ${messageId} to ${destination.plan.name} at ${replayedAtMs} never ended`);
      } else if (isSent(outcome.state, destination) && posts.length === 0)
        wrong.push(
          `the replay of ${messageId} to ${destination.plan.name} ended as ${outcome.state}, and sent nothing`,
        );
    }
  }
  return wrong;
}
