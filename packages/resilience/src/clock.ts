/** Ends a timer that `Clock.after` started; harmless when it has fired already. */
export type CancelTimer = () => void;

/** The only source of time and chance in the pipelines; tests pass `manualClock()` from `@sluice/resilience/testing`. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with `signal.reason` as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` once after `ms`, unless cancelled before. */
  after(ms: number, callback: () => void): CancelTimer;
  /** Uniform in [0, 1). */
  random(): number;
}

/** `setTimeout` takes a signed 32-bit delay and fires at once for anything above. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

interface Timer {
  unref?: () => void;
}

/** Builds the clock of this machine; `holdsProcess` says whether a waiting timer keeps Node.js running. */
function machineClock(holdsProcess: boolean): Clock {
  const after = (ms: number, callback: () => void): CancelTimer => {
    const dueMs = Date.now() + ms;
    let timer: ReturnType<typeof setTimeout>;
    const arm = (delayMs: number): void => {
      timer = setTimeout(
        () => {
          if (delayMs <= LONGEST_TIMEOUT_MS) callback();
          else arm(dueMs - Date.now());
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
