import type { ManualClock } from "@sluice/resilience/testing";

/** How many turns of the event loop a message takes at most between two waits: store, settlement, lease, request. */
const TURNS = 24;

/**
 * Advances the clock from timer to timer, and runs the event loop after each until its work is done. (`clock.advance` alone gives each
 * timer one turn, and continues before its work is done.)
 */
export async function advanceClock(clock: ManualClock, ms: number): Promise<void> {
  const untilMs = clock.monotonic() + ms;
  for (;;) {
    for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
    const { nextDueMs } = clock;
    if (nextDueMs === undefined || nextDueMs > untilMs) break;
    await clock.advance(Math.max(0, nextDueMs - clock.monotonic()));
  }
  await clock.advance(Math.max(0, untilMs - clock.monotonic()));
}
