import type { ManualClock } from "@sluice/resilience/testing";

/** Turns of the event loop that a message takes at most from one wait to the next: store, settlement, lease, request. */
const TURNS = 12;

/**
 * Moves the clock from one timer to the next, and after each lets everything happen that takes no time but turns of the
 * event loop. (`clock.advance` alone gives it one turn, and goes on to the next timer before the work of the last is done.)
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
