import { everyDestination } from "../scenario/cast.js";
import type { Invariant } from "./invariant.js";

/** Exactly one outcome. */
export const oneOutcome: Invariant = {
  name: "one-outcome",
  promise:
    "A message has exactly one outcome at each destination. Once stored, it changes only by a replay, which ends once more.",
  check({ cast, messages, deliveryOf, livesOf }) {
    const wrong: string[] = [];
    for (const destination of everyDestination(cast)) {
      for (const message of messages) {
        const { offset, messageId } = message;
        const lives = livesOf(destination, message);
        for (const { outcomes } of lives) {
          const states = outcomes.map(({ state }) => state).join(", ");
          if (outcomes.length > 1) wrong.push(`${messageId} at ${destination.name} ended as ${states}`);
        }
        const last = lives.at(-1)?.outcomes.at(-1)?.state;
        const shown = deliveryOf(destination, offset)?.state;
        if (last !== undefined && shown !== last)
          wrong.push(`${messageId} at ${destination.name} ended as ${last} and is shown as ${shown}`);
      }
    }
    return wrong;
  },
};
