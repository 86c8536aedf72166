import type { Clock } from "./clock.js";

export interface ManualClockOptions {
  /** Where time starts, in milliseconds since the epoch. Default: 2026-01-01T00:00:00.000Z. */
  readonly startMs?: number;
  /** What `random()` answers: a number, or a function called each time. Default: 0.5. */
  readonly random?: number | (() => number);
}

/** A clock that stands still until the test moves it. */
export interface ManualClock extends Clock {
  /** Every duration that `sleep` was asked for, in order. */
  readonly slept: readonly number[];
  /** Sleeps and timers that have not ended. A test that leaves some has left something running. */
  readonly pending: number;
  /** The reading of `monotonic()` at which the next sleep or timer is due, or undefined where none waits. */
  readonly nextDueMs: number | undefined;
  /**
   * Moves time forward by `ms`, firing what falls due in its order. Promise reactions (and anything that takes one turn of
   * the event loop) run after each, so what they start is fired too where it falls within `ms`.
   */
  advance(ms: number): Promise<void>;
  /** Lets time pass while nothing else gets its turn, as in a long computation: timers that fall due are late. */
  elapse(ms: number): void;
  /** Sets the wall clock forward or back. The monotonic reading and the timers do not notice, as on a machine. */
  jump(ms: number): void;
  /**
   * What a new process finds after the old one ended: the wall clock set forward or back by `ms`, and a monotonic reading
   * that begins there. Timers that are left keep their remaining time.
   */
  restart(ms: number): void;
}

interface Waiting {
  dueMs: number;
  readonly order: number;
  readonly fire: () => void;
}

const turnOfTheEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function manualClock(options: ManualClockOptions = {}): ManualClock {
  const { startMs = Date.UTC(2026, 0, 1), random = 0.5 } = options;
  let nowMs = startMs;
  /** Wall time minus monotonic time: how far the clock was set since the start. */
  let setByMs = 0;
  let order = 0;
  const slept: number[] = [];
  const waiting = new Set<Waiting>();

  const after = (ms: number, callback: () => void): (() => void) => {
    order += 1;
    const entry: Waiting = {
      dueMs: nowMs + Math.max(0, ms),
      order,
      fire: () => {
        waiting.delete(entry);
        callback();
      },
    };
    waiting.add(entry);
    return () => {
      waiting.delete(entry);
    };
  };

  const next = (): Waiting | undefined => {
    let first: Waiting | undefined;
    for (const entry of waiting) {
      if (!first || entry.dueMs < first.dueMs || (entry.dueMs === first.dueMs && entry.order < first.order)) {
        first = entry;
      }
    }
    return first;
  };

  return {
    now: () => nowMs + setByMs,
    monotonic: () => nowMs,
    random: () => (typeof random === "number" ? random : random()),
    after,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        slept.push(ms);
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
    get slept() {
      return slept;
    },
    get pending() {
      return waiting.size;
    },
    get nextDueMs() {
      return next()?.dueMs;
    },
    elapse: (ms) => {
      nowMs += ms;
    },
    jump: (ms) => {
      setByMs += ms;
    },
    restart: (ms) => {
      const movedMs = setByMs + ms;
      nowMs += movedMs;
      setByMs = 0;
      for (const entry of waiting) entry.dueMs += movedMs;
    },
    advance: async (ms) => {
      const untilMs = nowMs + ms;
      await turnOfTheEventLoop();
      for (let entry = next(); entry && entry.dueMs <= untilMs; entry = next()) {
        nowMs = Math.max(nowMs, entry.dueMs);
        entry.fire();
        await turnOfTheEventLoop();
      }
      nowMs = Math.max(nowMs, untilMs);
    },
  };
}
