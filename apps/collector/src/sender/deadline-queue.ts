import type { CancelTimer, Clock } from "@sluice/resilience";

/** A deadline. `done` cancels it. */
export interface Deadline {
  done(): void;
}

/** Deadlines of equal length that share one timer. */
export interface DeadlineQueue {
  /** Calls `onMissed` when the time has passed since `startedAtMs`, a monotonic reading, unless it is done before. */
  add(startedAtMs: number, onMissed: () => void): Deadline;
  /** Cancels all deadlines. */
  stop(): void;
}

class Entry implements Deadline {
  readonly dueMs: number;
  onMissed: (() => void) | undefined;

  constructor(dueMs: number, onMissed: () => void) {
    this.dueMs = dueMs;
    this.onMissed = onMissed;
  }

  done(): void {
    this.onMissed = undefined;
  }
}

/**
 * A timer per request cost as much as signing the request, and nearly all timers are cleared. Deadlines of equal length end in the
 * order in which they were set, so only the first needs a timer.
 */
export function deadlineQueue(clock: Clock, timeoutMs: number): DeadlineQueue {
  /** Entries from `first` on are active, or done but not removed yet. */
  let entries: Entry[] = [];
  let first = 0;
  let timer: { readonly cancel: CancelTimer } | undefined;

  const dropDone = (): Entry | undefined => {
    while (entries[first] !== undefined && entries[first]?.onMissed === undefined) first += 1;
    // At least half of the array is unused, so copying the rest is cheap on average.
    if (first > 1_024 && first * 2 > entries.length) {
      entries = entries.slice(first);
      first = 0;
    }
    return entries[first];
  };
  const arm = (dueMs: number, waitMs: number): void => {
    timer = { cancel: clock.after(Math.max(0, waitMs), () => reached(dueMs)) };
  };
  /**
   * The time up to `upToMs` was over when the timer fired, and what had arrived by then has been read. Later deadlines wait for another
   * timer, even if they are over by now: this thread may have stood still since it read, and their answers may have arrived meanwhile.
   */
  const reached = (upToMs: number): void => {
    timer = undefined;
    for (let next = dropDone(); next !== undefined; next = dropDone()) {
      if (next.dueMs > upToMs) {
        const nowMs = clock.monotonic();
        arm(Math.max(next.dueMs, nowMs), next.dueMs - nowMs);
        return;
      }
      const { onMissed } = next;
      next.done();
      onMissed?.();
    }
  };

  return {
    add(startedAtMs, onMissed) {
      const dueMs = startedAtMs + timeoutMs;
      const nowMs = clock.monotonic();
      dropDone();
      const last = first < entries.length ? entries.at(-1) : undefined;
      if (last !== undefined && last.dueMs > dueMs) {
        // A request that is sent a second time, with an earlier deadline than the last entry.
        return { done: clock.after(Math.max(0, dueMs - nowMs), onMissed) };
      }
      const entry = new Entry(dueMs, onMissed);
      entries.push(entry);
      if (timer === undefined) arm(dueMs, dueMs - nowMs);
      return entry;
    },
    stop() {
      timer?.cancel();
      timer = undefined;
      entries = [];
      first = 0;
    },
  };
}
