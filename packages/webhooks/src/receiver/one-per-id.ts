/**
 * Runs one task per id at a time. Tasks of the same id wait for each other; if one fails, the next one runs all the same. An id without
 * tasks takes no memory.
 */
export function onePerId(): <Result>(id: string, task: () => Promise<Result>) => Promise<Result> {
  const running = new Map<string, Promise<unknown>>();
  return async (id, task) => {
    for (let before = running.get(id); before !== undefined; before = running.get(id)) {
      // Its own caller handles the error.
      await before.catch(() => {});
    }
    const result = task();
    running.set(id, result);
    try {
      return await result;
    } finally {
      running.delete(id);
    }
  };
}
