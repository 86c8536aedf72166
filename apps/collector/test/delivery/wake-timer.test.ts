import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { WakeTimer } from "../../src/delivery/wake-timer.js";

type Times = readonly (number | undefined)[];

/** Sets the timer several times, and returns the times at which it wakes, and the timers that are left. */
async function wakes(sets: readonly Times[], seenAgoMs: number, isCancelled = false): Promise<object> {
  const clock = manualClock();
  const startMs = clock.monotonic();
  const wokenAtMs: number[] = [];
  const timer = new WakeTimer(clock, () => wokenAtMs.push(clock.monotonic() - startMs));
  for (const timesMs of sets)
    timer.set(
      timesMs.map((afterMs) => (afterMs === undefined ? undefined : startMs + afterMs)),
      startMs - seenAgoMs,
    );
  const set = clock.pending;
  if (isCancelled) timer.cancel();
  for (let ms = 0; ms < 10; ms++) await clock.advance(1);
  return { wokenAtMs, set };
}

it.each<[what: string, sets: readonly Times[], seenAgoMs: number, wokenAtMs: readonly number[]]>([
  ["for a time to come", [[5, undefined]], 0, [5]],
  ["once, for the earliest of several", [[7, 5, 6]], 0, [5]],
  ["for the earlier time that comes later", [[7], [5]], 0, [5]],
  ["for the later time that replaces an earlier one", [[5], [7]], 0, [7]],
  ["once for a time that is set again", [[5], [5]], 0, [5]],
  // Otherwise a retry that becomes due in this millisecond waits until something else happens.
  ["for what became due since the caller looked", [[-1]], 2, [0]],
  ["for what became due long ago, if the caller looked before", [[-300]], 500, [0]],
])("wakes %s", async (_what, sets, seenAgoMs, wokenAtMs) => {
  expect(await wakes(sets, seenAgoMs)).toEqual({ wokenAtMs, set: 1 });
});

it.each<[what: string, sets: readonly Times[]]>([
  ["without a time", [[undefined, undefined]]],
  ["for a time that was taken back", [[5], [undefined]]],
  ["for what the caller has seen to be due: a round or a settlement wakes it", [[0, -3]]],
])("sets no timer %s", async (_what, sets) => {
  expect(await wakes(sets, 0)).toEqual({ wokenAtMs: [], set: 0 });
});

it("keeps the timer of a time that is set again", () => {
  const clock = manualClock();
  const { after } = clock;
  let timers = 0;
  const counted = {
    ...clock,
    monotonic: clock.monotonic,
    after: (...args: Parameters<typeof after>) => {
      timers += 1;
      return after(...args);
    },
  };
  const timer = new WakeTimer(counted, () => {});
  const now = clock.monotonic();
  for (let call = 0; call < 3; call++) timer.set([now + 5], now);
  expect(timers).toBe(1);
});

it("wakes no more once it is cancelled", async () => {
  expect(await wakes([[5]], 0, true)).toEqual({ wokenAtMs: [], set: 1 });
});
