/** Runs one task per id at a time; tasks of the same id wait for each other. */
export function onePerId(): <Result>(id: string, task: () => Promise<Result>) => Promise<Result> {
  const running = new Map<string, Promise<unknown>>();
  return async (id, task) => {
    for (let before = running.get(id); before !== undefined; before = running.get(id)) {
      // How it ended is for its own caller.
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
