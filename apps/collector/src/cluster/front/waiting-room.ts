import type { Clock } from "@sluice/resilience";

/** Requests that wait for a change of the owner. */
export interface WaitingRoom {
  readonly waiting: number;
  /** Resolves at the next `wakeAll`, after `ms`, or when `signal` aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  wakeAll(): void;
}

export function waitingRoom(clock: Pick<Clock, "after">): WaitingRoom {
  const waiters = new Set<() => void>();
  return {
    get waiting() {
      return waiters.size;
    },
    wait(ms, signal) {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = (): void => {
          waiters.delete(wake);
          cancel();
          signal.removeEventListener("abort", wake);
          resolve();
        };
        const cancel = clock.after(ms, wake);
        waiters.add(wake);
        signal.addEventListener("abort", wake);
      });
    },
    wakeAll() {
      for (const wake of [...waiters]) wake();
    },
  };
}
