import type { Clock } from "@sluice/resilience";

/** Wakes one waiter. A call of `wake` while nobody waits is remembered, so nothing between two waits is missed. */
export interface WakeSignal {
  wake(): void;
  /** Resolves at the next `wake`, after `ms`, or when `signal` aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function wakeSignal(clock: Clock): WakeSignal {
  let isWoken = false;
  let wakeWaiter: (() => void) | undefined;
  return {
    wake() {
      isWoken = true;
      wakeWaiter?.();
    },
    async wait(ms, signal) {
      if (!isWoken && !signal.aborted)
        await new Promise<void>((resolve) => {
          const done = (): void => {
            cancel();
            signal.removeEventListener("abort", done);
            wakeWaiter = undefined;
            resolve();
          };
          const cancel = clock.after(ms, done);
          signal.addEventListener("abort", done, { once: true });
          wakeWaiter = done;
        });
      isWoken = false;
    },
  };
}
