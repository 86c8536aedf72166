import type { Clock } from "@sluice/resilience";

/** A clock that does not take part when the machine's is set, or when the machine slept. */
export interface SteadyClock extends Clock {
  stop(): void;
}

/** A clock set back by more than this is a jump; less is a timer's inaccuracy. */
const BACK_JUMP_MS = 1_000;
/** A timer later than this was held up by no event loop, however busy. */
const FORWARD_JUMP_MS = 60_000;
const HEARTBEAT_MS = 10_000;

/**
 * Retry windows, due times and breakers count the time that passes, and timers measure exactly that: one that ends at
 * another time than it was set for shows that the machine's clock jumped, and by how much. A heartbeat makes sure that a
 * jump is seen soon. With the clock set back an hour, a retry that is due in a second is still due in a second; set
 * forward a day, it is not a day late and its window not over.
 */
export function steadyClock(clock: Clock): SteadyClock {
  let skewMs = 0;
  const now = (): number => clock.now() - skewMs;
  const after = (ms: number, callback: () => void): (() => void) => {
    const dueMs = now() + ms;
    const before = skewMs;
    return clock.after(ms, () => {
      // Skew that another timer found meanwhile is in `now` already, but not in `dueMs`.
      const driftMs = skewMs === before ? now() - dueMs : 0;
      if (driftMs < -BACK_JUMP_MS || driftMs > FORWARD_JUMP_MS) skewMs += driftMs;
      callback();
    });
  };
  let stopHeartbeat = (): void => {};
  const heartbeat = (): void => {
    stopHeartbeat = after(HEARTBEAT_MS, heartbeat);
  };
  heartbeat();

  return {
    now,
    after,
    random: () => clock.random(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    stop: () => stopHeartbeat(),
  };
}
