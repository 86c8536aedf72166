import type { Invariant } from "./invariant.js";

/** How much later than without the others a message may start, in milliseconds. A sync of the disk takes at most 2. */
const BOUND_MS = 1_000;

/** A destination that works keeps its pace, whatever happens to the others. */
export const isolation: Invariant = {
  name: "isolation",
  promise:
    "A destination that takes everything gets each message within a second of its receipt, however many others are down, slow or silent.",
  check({ scenario, cast, messages, postsOf }) {
    const { acknowledgements, runs } = cast.history;
    const wrong: string[] = [];
    if (scenario.steps.some(({ kind }) => ["disk", "cluster", "race", "worker"].includes(kind))) return wrong;
    const acknowledged = new Map<string, number>();
    for (const { sourceId, messageIds, atMs } of acknowledgements)
      for (const messageId of messageIds)
        if (!acknowledged.has(`${sourceId} ${messageId}`)) acknowledged.set(`${sourceId} ${messageId}`, atMs);
    for (const [index, destination] of cast.destinations.entries()) {
      const isTouched = scenario.steps.some(
        (step) =>
          (step.kind === "receiver" && step.destination === index) ||
          (step.kind === "network" && "destination" in step.of && step.of.destination === index) ||
          ((step.kind === "settings" || step.kind === "operation" || step.kind === "transformation") &&
            step.destination === index),
      );
      if (isTouched || destination.plan.concurrency < 2) continue;
      for (const { sourceId, messageId } of messages) {
        const [first] = postsOf(destination, messageId);
        const acknowledgedMs = acknowledged.get(`${sourceId} ${messageId}`);
        if (first === undefined || acknowledgedMs === undefined) continue;
        const readyMs = runs[first.run - 1]?.readyAtMs ?? Number.POSITIVE_INFINITY;
        const lateMs = first.atMs - Math.max(acknowledgedMs, readyMs);
        if (lateMs > BOUND_MS)
          wrong.push(`${messageId} was sent to ${destination.plan.name} ${lateMs} ms after it could be`);
      }
    }
    return wrong;
  },
};
