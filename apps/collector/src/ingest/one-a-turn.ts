/**
 * Lets work that takes milliseconds begin once in a turn of the event loop, in the order in which it was asked for: what is light and
 * arrives meanwhile is done in between, instead of behind all of it.
 */
export function oneATurn(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
    return last;
  };
}
