/** Gives a permit back. A second call does nothing. */
export type Release = () => void;

/** Limits the number of concurrent holders. Others wait in the order of their calls. */
export interface Semaphore {
  /** Permits held now. */
  readonly held: number;
  /** Callers waiting for a permit. */
  readonly waiting: number;
  /** Returns a permit, or undefined if none is free or others are waiting. */
  tryAcquire(): Release | undefined;
  /** Resolves with a permit. Rejects with `signal.reason` as soon as `signal` aborts. */
  acquire(signal?: AbortSignal): Promise<Release>;
}

export function semaphore(permits: number): Semaphore {
  if (!Number.isInteger(permits) || permits < 1) {
    throw new RangeError(`A semaphore needs an integer >= 1 of permits, got ${permits}`);
  }
  let held = 0;
  // A Set keeps the order of the calls and removes an aborted waiter without a search.
  const waiters = new Set<() => void>();

  const permit = (): Release => {
    held += 1;
    let released = false;
    return () => {
      if (released) return;
      released = true;
      held -= 1;
      for (const wake of waiters) {
        wake();
        break;
      }
    };
  };

  return {
    get held() {
      return held;
    },
    get waiting() {
      return waiters.size;
    },
    tryAcquire: () => (held < permits && waiters.size === 0 ? permit() : undefined),
    acquire: (signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        if (held < permits && waiters.size === 0) {
          resolve(permit());
          return;
        }
        const wake = (): void => {
          waiters.delete(wake);
          signal?.removeEventListener("abort", onAbort);
          resolve(permit());
        };
        const onAbort = (): void => {
          waiters.delete(wake);
          reject(signal?.reason);
        };
        waiters.add(wake);
        signal?.addEventListener("abort", onAbort, { once: true });
      }),
  };
}

/** Runs `task` when the tasks before it have ended, and returns what it returns. */
export type SerialQueue = <Result>(task: () => Result | PromiseLike<Result>) => Promise<Result>;

/** A serial queue for each key: tasks of one key run one after another, tasks of different keys side by side. */
export type KeyedSerialQueue = <Result>(
  key: string,
  task: () => Result | PromiseLike<Result>,
) => Promise<Result>;

/**
 * Makes a queue that runs tasks one after another, in the order of the calls. A task starts in a microtask at the earliest, so
 * never before the call that adds it has returned.
 *
 * A task that throws or rejects rejects the promise of its own call; the next task runs all the same. The error is lost if
 * nobody handles that promise: the queue keeps it from becoming an unhandled rejection.
 *
 * A task must not wait for another task of its own queue: neither would ever end.
 *
 * @example
 * const enqueue = serialQueue();
 * await Promise.all([enqueue(() => write("a")), enqueue(() => write("b"))]); // "b" after "a"
 */
export function serialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const result = last.then(task);
    last = result.catch(() => {});
    return result;
  };
}

/** Makes a serial queue for each key, with the rules of `serialQueue`. A key without tasks takes no memory. */
export function keyedSerialQueue(): KeyedSerialQueue {
  const lastByKey = new Map<string, Promise<unknown>>();
  return (key, task) => {
    const result = (lastByKey.get(key) ?? Promise.resolve()).then(task);
    const ended = result
      .catch(() => {})
      .then(() => {
        if (lastByKey.get(key) === ended) lastByKey.delete(key);
      });
    lastByKey.set(key, ended);
    return result;
  };
}

/**
 * Wraps `task` so that it never runs twice at once and runs again if it is asked for while it runs: calls that arrive during
 * a run share the next one. Each call returns the promise of a run that starts after the call, so that run sees
 * everything that was true at the call.
 *
 * Starts and failures follow the rules of `serialQueue`: a run that fails rejects the promises of the calls that share it, and
 * the next run starts all the same.
 *
 * @example
 * const reload = coalesced(async () => { settings = await read(); });
 * watch(file, () => void reload()); // a hundred changes during one read cause one more read
 */
export function coalesced<Result>(task: () => Result | PromiseLike<Result>): () => Promise<Result> {
  const enqueue = serialQueue();
  /** The run that has not started yet. */
  let next: Promise<Result> | undefined;
  return () => {
    next ??= enqueue(() => {
      next = undefined;
      return task();
    });
    return next;
  };
}
