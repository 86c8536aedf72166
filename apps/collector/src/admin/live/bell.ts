import type { Clock } from "@sluice/resilience";

/** Wakes one waiter. A ring while nobody waits is kept, so nothing that happens between two waits is missed. */
export interface Bell {
  ring(): void;
  /** Resolves at the next ring, or after `ms`, or when `signal` aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function bell(clock: Clock): Bell {
  let isRung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      isRung = true;
      wake?.();
    },
    async wait(ms, signal) {
      if (!isRung && !signal.aborted)
        await new Promise<void>((resolve) => {
          const done = (): void => {
            cancel();
            signal.removeEventListener("abort", done);
            wake = undefined;
            resolve();
          };
          const cancel = clock.after(ms, done);
          signal.addEventListener("abort", done, { once: true });
          wake = done;
        });
      isRung = false;
    },
  };
}
