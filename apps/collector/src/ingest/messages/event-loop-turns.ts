import { setImmediate } from "node:timers/promises";
import { serialQueue } from "@sluice/resilience";

/** Resolves in a turn of the event loop in which no other caller resumes, in the order of the calls. */
export type NextTurn = () => Promise<void>;

/**
 * Spreads work that takes milliseconds over turns of the event loop, so that lighter requests are served in between instead of behind
 * all of it.
 */
export function eventLoopTurns(): NextTurn {
  const enqueue = serialQueue();
  return () => enqueue(() => setImmediate());
}

/** Runs a generator, each of its slices in a turn of its own. */
export async function runInTurns<T>(slices: Generator<void, T>, nextTurn: NextTurn): Promise<T> {
  for (;;) {
    await nextTurn();
    const slice = slices.next();
    if (slice.done) return slice.value;
  }
}
