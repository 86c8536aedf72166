/**
 * Runs one task per id at a time. A task with several ids waits for each of them. If one fails, the next one runs all the same. An id
 * without tasks takes no memory.
 */
export function onePerId(): <Result>(ids: readonly string[], task: () => Promise<Result>) => Promise<Result> {
  const running = new Map<string, Promise<unknown>>();
  const taskBefore = (ids: readonly string[]): Promise<unknown> | undefined => {
    const busy = ids.find((id) => running.has(id));
    return busy === undefined ? undefined : running.get(busy);
  };
  return async (ids, task) => {
    for (let before = taskBefore(ids); before !== undefined; before = taskBefore(ids)) {
      // Its own caller handles the error.
      await before.catch(() => {});
    }
    const result = task();
    for (const id of ids) running.set(id, result);
    try {
      return await result;
    } finally {
      for (const id of ids) running.delete(id);
    }
  };
}
