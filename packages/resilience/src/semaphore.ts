/** Gives a permit back; a second call does nothing. */
export type Release = () => void;

/** Lets at most a fixed number of holders in at a time; the others wait in the order they came. */
export interface Semaphore {
  /** Permits held now. */
  readonly held: number;
  /** Callers waiting for a permit. */
  readonly waiting: number;
  /** A permit at once, or undefined. Never overtakes a caller who waits. */
  tryAcquire(): Release | undefined;
  /** Resolves with a permit; rejects with `signal.reason` as soon as `signal` aborts, and then holds none. */
  acquire(signal?: AbortSignal): Promise<Release>;
}

export function semaphore(permits: number): Semaphore {
  if (!Number.isInteger(permits) || permits < 1) {
    throw new RangeError(`A semaphore needs an integer >= 1 of permits, got ${permits}`);
  }
  let held = 0;
  // A Set keeps the order of arrival and drops an aborted waiter without a search.
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
