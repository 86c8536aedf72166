import type { CancelTimer, Clock } from "@sluice/resilience";

/** A deadline that was set; `done` calls it off. */
export interface Deadline {
  done(): void;
}

/** Deadlines that are all equally long, with one timer for all of them. */
export interface DeadlineQueue {
  /** Calls `onMissed` once the time has passed since `startedAtMs` (a monotonic reading), unless it is done before. */
  add(startedAtMs: number, onMissed: () => void): Deadline;
  /** Forgets all of them. */
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
 * A timer for each request cost as much as signing it, and nearly all are cleared. Equally long deadlines end in the order in
 * which they were set, so the first alone needs a timer.
 */
export function deadlineQueue(clock: Clock, timeoutMs: number): DeadlineQueue {
  /** Entries from `first` on are live, or done and not yet dropped. */
  let entries: Entry[] = [];
  let first = 0;
  let timer: { readonly cancel: CancelTimer } | undefined;

  const dropDone = (): Entry | undefined => {
    while (entries[first] !== undefined && entries[first]?.onMissed === undefined) first += 1;
    // Half of it is dead: copying the rest costs no more than what was added since the last time.
    if (first > 1_024 && first * 2 > entries.length) {
      entries = entries.slice(first);
      first = 0;
    }
    return entries[first];
  };
  const arm = (dueMs: number, waitMs: number): void => {
    timer = { cancel: clock.after(Math.max(0, waitMs), () => reached(dueMs)) };
  };
  /** The timer was set for `reachedMs`: it may fire a little before the clock says so. */
  const reached = (reachedMs: number): void => {
    timer = undefined;
    const nowMs = Math.max(reachedMs, clock.monotonic());
    for (let next = dropDone(); next !== undefined; next = dropDone()) {
      if (next.dueMs > nowMs) {
        arm(next.dueMs, next.dueMs - nowMs);
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
        // A request that goes out once more, late in its time.
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
