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
