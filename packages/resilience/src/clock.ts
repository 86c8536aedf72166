/** Cancels a timer of `Clock.after`. Does nothing if it has already fired. */
export type CancelTimer = () => void;

/** The only source of time and chance in the pipelines. Tests pass `manualClock()` from `@sluice/resilience/testing`. */
export interface Clock {
  /**
   * Wall time, in milliseconds since the Unix epoch. Use it for times that people or protocols see. It jumps when the machine's clock is set,
   * so do not measure durations, deadlines or timers with it.
   */
  now(): number;
  /**
   * Monotonic time in whole milliseconds, counted from the wall time at which this process started. It never jumps. Compare readings only
   * within a process: after a restart it counts from another wall time.
   */
  monotonic(): number;
  /** Resolves after `ms`. Rejects with `signal.reason` as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `callback` once after `ms`, unless it is cancelled before. What has arrived until then is read first, so that an answer which
   * is there counts even if the process stood still beyond its deadline.
   */
  after(ms: number, callback: () => void): CancelTimer;
  /** Uniform in [0, 1). */
  random(): number;
}

/** Smaller differences are ignored: two readings never agree to the millisecond, and clocks are adjusted a little all the time. */
const DRIFT_MS = 1_000;

/**
 * Converts a monotonic reading to wall time, for showing when something is due. It returns the same time for the same reading unless the
 * wall clock was set by a second or more.
 */
export function wallTimeAt(monotonicMs: number, clock: Pick<Clock, "now" | "monotonic">): number {
  const setByMs = clock.now() - clock.monotonic();
  return Math.abs(setByMs) < DRIFT_MS ? monotonicMs : monotonicMs + setByMs;
}

/** The longest delay of `setTimeout`. Longer ones fire at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

interface Timer {
  unref?: () => void;
}

/**
 * Calls back when the event loop has read its sockets. It runs timers before it reads, so a process that stood still (no CPU time, SIGSTOP,
 * a suspended machine) would find that a deadline is over before it finds the answer that arrived in time.
 */
function afterReading(callback: () => void): CancelTimer {
  // Browsers and some edge runtimes do not say when they have read.
  if (typeof setImmediate !== "function") {
    callback();
    return () => {};
  }
  // It holds the process for this turn only.
  const immediate = setImmediate(callback);
  return () => clearImmediate(immediate);
}

/** Makes `Clock.sleep` from `Clock.after`. */
export function sleepWith(
  after: (ms: number, callback: () => void) => CancelTimer,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
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
  });
}

/** Makes a clock of this machine. `holdsProcess` says whether its timers keep the process alive. */
function machineClock(holdsProcess: boolean): Clock {
  const after = (ms: number, callback: () => void): CancelTimer => {
    const dueMs = performance.now() + ms;
    let cancel: CancelTimer;
    const arm = (delayMs: number): void => {
      const timer = setTimeout(
        () => {
          if (delayMs > LONGEST_TIMEOUT_MS) arm(dueMs - performance.now());
          else cancel = afterReading(callback);
        },
        Math.max(0, Math.min(delayMs, LONGEST_TIMEOUT_MS)),
      );
      cancel = () => clearTimeout(timer);
      // In browsers and edge runtimes the timer is a number, which keeps nothing alive.
      if (!holdsProcess) (timer as Timer).unref?.();
    };
    arm(ms);
    return () => cancel();
  };

  return {
    now: () => Date.now(),
    monotonic: () => Math.floor(performance.timeOrigin + performance.now()),
    random: () => Math.random(),
    after,
    sleep: (ms, signal) => sleepWith(after, ms, signal),
  };
}

/** The machine's clock. Its timers keep the process alive. */
export const systemClock: Clock = machineClock(true);

/** The machine's clock for libraries. Its timers do not keep the process alive. */
export const backgroundClock: Clock = machineClock(false);
