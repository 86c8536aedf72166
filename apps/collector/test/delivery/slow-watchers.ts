import type { Clock } from "@sluice/resilience";
import { type ManualClock, manualClock, type TestCollectorOptions } from "../../src/testing.js";

const SLOWER_BY = 30;

/**
 * Options of a test collector that is taken through hours. Charts, the event catalog and incidents look every minute instead of every two
 * seconds: their looks are twelve thirteenths of the work of an hour in which little is delivered.
 */
export function slowWatchers(options: TestCollectorOptions = {}): TestCollectorOptions {
  const { clock = manualClock({ random: Math.random }) } = options;
  return { ...options, clock, watchClock: slowed(clock) };
}

function slowed(clock: ManualClock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    random: () => clock.random(),
    after: (ms, callback) => clock.after(SLOWER_BY * ms, callback),
    sleep: (ms, signal) => clock.sleep(SLOWER_BY * ms, signal),
  };
}
