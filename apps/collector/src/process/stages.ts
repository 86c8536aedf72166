import { systemClock } from "@sluice/resilience";

/** The stages of a collector as they were started, to be closed in reverse. */
export interface Stages {
  /** Keeps a stage that was started, and how it is closed; `leftMs` is what is left of the time allowed. */
  keep<T>(stage: T, close: (stage: T, leftMs: number) => Promise<void> | void): T;
  /** Closes all, the last first, within `allowedMs` together. One that fails does not keep the others open: the first failure is thrown at the end. */
  close(allowedMs: number): Promise<void>;
}

/** `now`: milliseconds on a clock that is never set. */
export function stagesToClose(now: () => number = systemClock.monotonic): Stages {
  const closers: ((leftMs: number) => Promise<void> | void)[] = [];
  return {
    keep(stage, close) {
      closers.push((leftMs) => close(stage, leftMs));
      return stage;
    },
    async close(allowedMs) {
      const deadline = now() + allowedMs;
      const failures: unknown[] = [];
      for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
        try {
          await close(Math.max(0, deadline - now()));
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
