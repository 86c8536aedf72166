import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { WakeTimer } from "../../src/delivery/wake-timer.js";

async function wakes(timesMs: readonly (number | undefined)[], seenAgoMs: number): Promise<number> {
  const clock = manualClock();
  const startMs = clock.monotonic();
  let woken = 0;
  const timer = new WakeTimer(clock, () => {
    woken += 1;
  });
  timer.set(
    timesMs.map((afterMs) => (afterMs === undefined ? undefined : startMs + afterMs)),
    startMs - seenAgoMs,
  );
  await clock.advance(10);
  return woken;
}

it.each<[what: string, timesMs: readonly (number | undefined)[], seenAgoMs: number, woken: number]>([
  ["for a time to come", [5, undefined], 0, 1],
  ["once, for the earliest of several", [5, 7], 0, 1],
  ["not without a time", [undefined, undefined], 0, 0],
  ["not for what the caller has seen to be due: a round or a settlement wakes it", [0, -3], 0, 0],
  // Otherwise a retry that becomes due in this millisecond waits until something else happens.
  ["for what became due since the caller looked", [0], 1, 1],
  ["for what became due long ago, if the caller looked before", [-300], 500, 1],
])("wakes %s", async (_what, timesMs, seenAgoMs, woken) => {
  expect(await wakes(timesMs, seenAgoMs)).toBe(woken);
});
