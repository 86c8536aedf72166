import { everyDestination } from "../scenario/cast.js";
import type { Invariant } from "./invariant.js";

/** Counters of the collector. */
export const usageAddsUp: Invariant = {
  name: "usage-adds-up",
  promise:
    "The usage of a source counts exactly the messages in the log, and exactly the deliveries that ended as delivered or filtered, each replay once more.",
  check({ cast, messages, dropped, livesOf, usageOf }) {
    const wrong: string[] = [];
    // What is gone stays counted.
    if (cast.history.purges.length > 0 || dropped.length > 0) return wrong;
    for (const { id } of cast.sources) {
      const own = messages.filter(({ sourceId }) => sourceId === id);
      const ended = (state: string): number =>
        everyDestination(cast).reduce(
          (sum, destination) =>
            sum +
            own
              .flatMap((message) => livesOf(destination, message))
              .filter(({ outcomes }) => outcomes.some((outcome) => outcome.state === state)).length,
          0,
        );
      const expected = { accepted: own.length, delivered: ended("delivered"), filtered: ended("filtered") };
      const counted = usageOf(id);
      for (const name of ["accepted", "delivered", "filtered"] as const)
        if (counted[name] !== expected[name])
          wrong.push(`usage of ${id} counts ${counted[name]} ${name}; there are ${expected[name]}`);
    }
    return wrong;
  },
};
