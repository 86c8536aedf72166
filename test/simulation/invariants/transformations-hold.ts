import { SLOWEST_MS } from "../actors/sandboxes.js";
import type { CastDestination } from "../scenario/cast.js";
import { LATER_THAN_WAITED_FOR_MS } from "../scenario/steps/worker.js";
import type { FinishedRun, Invariant } from "./invariant.js";

/** Code between source and destination. */
export const transformationsHold: Invariant = {
  name: "transformations-hold",
  promise:
    "Nothing reaches a destination with a transformation that its function did not let pass. A version is in force when the collector has answered. What a function failed for is delivered once the code is mended and it is retried.",
  check(run) {
    return run.cast.destinations.flatMap((destination) =>
      destination.transformation === undefined
        ? []
        : [...unseen(destination, run), ...outdated(destination, run), ...leftBehind(destination, run)],
    );
  },
};

/** Messages that were sent although the function had not let them pass in that process. Delete messages pass none. */
function unseen(destination: CastDestination, { cast, messages, dropped, postsOf }: FinishedRun): string[] {
  const { id } = destination.transformation ?? {};
  const passed = new Map<string, number>();
  for (const one of cast.history.transformed)
    if (one.id === id && one.kind === "same") {
      const key = `${one.run} ${one.messageId}`;
      passed.set(key, Math.min(one.atMs, passed.get(key) ?? Number.POSITIVE_INFINITY));
    }
  const known = new Map([...messages, ...dropped].map((one) => [one.messageId, one.message.type]));
  return [...known].flatMap(([messageId, type]) =>
    type === "delete"
      ? []
      : postsOf(destination, messageId).flatMap(({ run, atMs }) =>
          (passed.get(`${run} ${messageId}`) ?? Number.POSITIVE_INFINITY) <= atMs
            ? []
            : [`${messageId} was sent to ${destination.plan.name} at ${atMs} and had not been let pass`],
        ),
  );
}

/**
 * Functions that ran after a newer version was in force. A message that had begun before waits for at most one batch, and in a thread whose
 * calls are late, for its code. A process that another one replaced does not know of changes; what it does has no effect.
 */
function outdated({ plan, transformation }: CastDestination, { scenario, cast }: FinishedRun): string[] {
  if (scenario.store === "replicated" || transformation === undefined) return [];
  const { id, answered } = transformation;
  const waitMs = SLOWEST_MS + (scenario.workers > 1 ? LATER_THAN_WAITED_FOR_MS : 0);
  return cast.history.transformed.flatMap((one) => {
    const newer = answered.find(({ version, atMs }) => version > one.version && atMs + waitMs < one.atMs);
    return one.id !== id || newer === undefined
      ? []
      : [
          `${one.messageId} went through version ${one.version} of ${plan.name} at ${one.atMs}, after version ${newer.version} was in force at ${newer.atMs}`,
        ];
  });
}

/** The code was mended in the end, and everything that it had failed for was retried. */
function leftBehind(destination: CastDestination, { messages, deliveryOf }: FinishedRun): string[] {
  return messages.flatMap(({ offset, messageId }) => {
    const { state, reason = "" } = deliveryOf(destination, offset) ?? {};
    return state === "failed" && reason.startsWith("transform_failed")
      ? [`${messageId} is still failed at ${destination.plan.name}: ${reason}`]
      : [];
  });
}
