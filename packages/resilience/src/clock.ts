/** Ends a timer that `Clock.after` started; harmless when it has fired already. */
export type CancelTimer = () => void;

/** The only source of time and chance in the pipelines; tests pass `manualClock()` from `@sluice/resilience/testing`. */
export interface Clock {
  /**
   * Wall time, in milliseconds since the Unix epoch. For times that a person or a protocol sees: it jumps when somebody
   * sets the machine's clock, so no duration, deadline or timer is measured by it.
   */
  now(): number;
  /**
   * Whole milliseconds that have passed, counted from the wall time at which this process started. It never jumps. Readings are
   * comparable within a process only: after a restart it counts from another wall time.
   */
  monotonic(): number;
  /** Resolves after `ms`; rejects with `signal.reason` as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` once after `ms`, unless cancelled before. */
  after(ms: number, callback: () => void): CancelTimer;
  /** Uniform in [0, 1). */
  random(): number;
}

/** Two readings never agree to the millisecond, and clocks are adjusted a little all the time. */
const DRIFT_MS = 1_000;

/**
 * The wall time that belongs to a monotonic reading, as the wall clock is set now: for showing when something is due. A
 * time that is shown twice is the same unless the clock was set by a second or more.
 */
export function wallTimeAt(monotonicMs: number, clock: Pick<Clock, "now" | "monotonic">): number {
  const setByMs = clock.now() - clock.monotonic();
  return Math.abs(setByMs) < DRIFT_MS ? monotonicMs : monotonicMs + setByMs;
}

/** `setTimeout` takes a signed 32-bit delay and fires at once for anything above. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

interface Timer {
  unref?: () => void;
}

/** Builds the clock of this machine; `holdsProcess` says whether a waiting timer keeps Node.js running. */
function machineClock(holdsProcess: boolean): Clock {
  const after = (ms: number, callback: () => void): CancelTimer => {
    const dueMs = performance.now() + ms;
    let timer: ReturnType<typeof setTimeout>;
    const arm = (delayMs: number): void => {
      timer = setTimeout(
        () => {
          if (delayMs <= LONGEST_TIMEOUT_MS) callback();
          else arm(dueMs - performance.now());
        },
        Math.max(0, Math.min(delayMs, LONGEST_TIMEOUT_MS)),
      );
      // Browsers and edge runtimes answer a number, which cannot be unreferenced and holds nothing.
      if (!holdsProcess) (timer as Timer).unref?.();
    };
    arm(ms);
    return () => clearTimeout(timer);
  };

  return {
    now: () => Date.now(),
    monotonic: () => Math.floor(performance.timeOrigin + performance.now()),
    random: () => Math.random(),
    after,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        const onAbort = (): void => {
          cancel();
          reject(signal?.reason);
        };
        const cancel = after(ms, () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        });
        signal?.addEventListener("abort", onAbort, { once: true });
      }),
  };
}

/** The machine's clock. A waiting timer keeps the process alive. */
export const systemClock: Clock = machineClock(true);

/** The machine's clock for code that is a guest in its process: its timers never keep the process alive. */
export const backgroundClock: Clock = machineClock(false);
