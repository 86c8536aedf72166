import { type CancelTimer, type Clock, sleepWith } from "./clock.js";

export interface ManualClockOptions {
  /** The first time, in milliseconds since the epoch. Default: 2026-01-01T00:00:00.000Z. */
  readonly startMs?: number;
  /** What `random()` returns: a number, or a function that is called each time. Default: 0.5. */
  readonly random?: number | (() => number);
}

/** A clock that stands still until a test moves it. */
export interface ManualClock extends Clock {
  /** The durations of all calls of `sleep`, in order. */
  readonly slept: readonly number[];
  /** Sleeps and timers that have not ended. If some are left at the end of a test, something still runs. */
  readonly pending: number;
  /** The monotonic time at which the next sleep or timer is due. Undefined if there is none. */
  readonly nextDueMs: number | undefined;
  /**
   * Moves time forward by `ms` and fires what becomes due, in order. After each timer, promise reactions, one turn of the event loop and
   * what `turn` is called for run, so timers that they start are fired too if they are due within `ms`.
   */
  advance(ms: number): Promise<void>;
  /** Takes a turn of the event loop, as an answer of another thread or process does, during which `advance` lets no time pass. */
  turn(): Promise<void>;
  /** Moves time forward without firing timers, as during a long computation: timers that become due are late. */
  elapse(ms: number): void;
  /** Sets the wall clock forward or back. Monotonic time and timers are not affected, as on a real machine. */
  jump(ms: number): void;
  /**
   * Simulates a restart of the process: sets the wall clock forward or back by `ms`, and starts monotonic time there. Timers keep their
   * remaining time.
   */
  restart(ms: number): void;
}

interface Timer {
  dueMs: number;
  readonly order: number;
  readonly fire: () => void;
}

/** The sleeps and timers of a manual clock. */
class Timers {
  readonly #timers = new Set<Timer>();
  #lastOrder = 0;

  get size(): number {
    return this.#timers.size;
  }

  add(dueMs: number, callback: () => void): CancelTimer {
    this.#lastOrder += 1;
    const timer: Timer = {
      dueMs,
      order: this.#lastOrder,
      fire: () => {
        this.#timers.delete(timer);
        callback();
      },
    };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** The timer that is due first. Of those that are due at the same time, the one that was added first. */
  next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (!first || timer.dueMs < first.dueMs || (timer.dueMs === first.dueMs && timer.order < first.order))
        first = timer;
    }
    return first;
  }

  postpone(ms: number): void {
    for (const timer of this.#timers) timer.dueMs += ms;
  }
}

const turnOfTheEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Turns of the event loop that somebody takes. */
class Turns {
  #underWay = 0;
  #taken = 0;

  async take(): Promise<void> {
    this.#underWay += 1;
    this.#taken += 1;
    await turnOfTheEventLoop();
    this.#underWay -= 1;
  }

  /** Resolves after a turn during which nobody took one. */
  async over(): Promise<void> {
    let before: number;
    do {
      before = this.#taken;
      await turnOfTheEventLoop();
    } while (this.#underWay > 0 || this.#taken > before);
  }
}

export function manualClock(options: ManualClockOptions = {}): ManualClock {
  const { startMs = Date.UTC(2026, 0, 1), random = 0.5 } = options;
  let nowMs = startMs;
  /** Wall time minus monotonic time: how far the wall clock was set since the start. */
  let setByMs = 0;
  const slept: number[] = [];
  const timers = new Timers();
  const turns = new Turns();
  const after = (ms: number, callback: () => void): CancelTimer =>
    timers.add(nowMs + Math.max(0, ms), callback);

  return {
    now: () => nowMs + setByMs,
    monotonic: () => nowMs,
    random: () => (typeof random === "number" ? random : random()),
    after,
    sleep: (ms, signal) => {
      slept.push(ms);
      return sleepWith(after, ms, signal);
    },
    get slept() {
      return slept;
    },
    get pending() {
      return timers.size;
    },
    get nextDueMs() {
      return timers.next()?.dueMs;
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
      timers.postpone(movedMs);
    },
    turn: () => turns.take(),
    advance: async (ms) => {
      const untilMs = nowMs + ms;
      await turns.over();
      for (let timer = timers.next(); timer && timer.dueMs <= untilMs; timer = timers.next()) {
        nowMs = Math.max(nowMs, timer.dueMs);
        timer.fire();
        await turns.over();
      }
      nowMs = Math.max(nowMs, untilMs);
    },
  };
}
