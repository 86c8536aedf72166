/**
 * Lets one piece of work that takes milliseconds begin in each turn of the event loop, in the order in which they were asked for. Light
 * work that arrives meanwhile is done in between, instead of behind all of it.
 */
export function oneATurn(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
    return last;
  };
}

/** Does work slice by slice, each in a turn of its own. */
export async function inTurns<T>(work: Generator<void, T>, turn: () => Promise<void>): Promise<T> {
  for (;;) {
    await turn();
    const slice = work.next();
    if (slice.done) return slice.value;
  }
}
