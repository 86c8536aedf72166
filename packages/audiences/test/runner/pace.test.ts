import { expect, test } from "vitest";
import { idleMs, pressureGauge } from "../../src/engine/runner/loop/pace.js";

const RUSH = { messagesPerSecond: 50_000, utilization: 0.9 };

test.each([
  ["a rush", 10, RUSH, 0, false, 90],
  ["a rush, after a long step", 400, RUSH, 0, false, 500],
  ["a rush that has lasted for five minutes", 10, RUSH, 300_000, false, 90],
  ["a rush that has lasted for longer", 10, RUSH, 300_001, false, 10],
  ["a rush, while somebody waits", 400, RUSH, 300_001, true, 0],
  ["few messages, whatever keeps the process busy", 10, { ...RUSH, messagesPerSecond: 1_500 }, 0, false, 0],
  ["a rush that the machine has room for", 10, { ...RUSH, utilization: 0.3 }, 0, false, 0],
  ["a rush that leaves some room", 11, { ...RUSH, utilization: 0.375 }, 0, false, 9],
  [
    "a rush that leaves little room, for longer than five minutes",
    10,
    { ...RUSH, utilization: 0.44 },
    300_001,
    false,
    10,
  ],
  [
    "a rush that leaves much room, for longer than five minutes",
    10,
    { ...RUSH, utilization: 0.31 },
    300_001,
    false,
    1,
  ],
] as const)("%s", (_name, workedMs, pressure, lagMs, isAwaited, rest) => {
  const round = { workedMs, pressure, lagMs, isAwaited, behind: 5_000 };
  expect(idleMs({ ...round, isFollowed: true })).toBe(rest);
  expect(idleMs({ ...round, isFollowed: false })).toBe(rest);
});

const CALM = { messagesPerSecond: 500, utilization: 0.2 };

test.each([
  ["followed by an audience", { isFollowed: true }, 0],
  ["followed by nobody", {}, 100],
  ["followed by nobody, with a full reading waiting", { behind: 4_000 }, 0],
  ["followed by nobody, in a rush", { pressure: RUSH, workedMs: 20 }, 180],
  ["followed by nobody, while a call waits", { isAwaited: true }, 0],
] as const)("few messages, %s", (_name, changes, rest) => {
  const round = { workedMs: 1, pressure: CALM, lagMs: 0, behind: 1, isFollowed: false, isAwaited: false };
  expect(idleMs({ ...round, ...changes })).toBe(rest);
});

test("the pressure is what others than the engine appended, measured anew after a tenth of a second", () => {
  let utilization = 0;
  const gauge = pressureGauge(() => utilization);
  const read = (nowMs: number, received: number, ownMessages: number) =>
    gauge.read({ nowMs, received, ownMessages });
  expect(read(0, 1_000, 10)).toEqual({ messagesPerSecond: 0, utilization: 0 });
  utilization = 0.7;
  expect(read(99, 2_000, 10)).toEqual({ messagesPerSecond: 0, utilization: 0 });
  expect(read(200, 2_000, 510)).toEqual({ messagesPerSecond: 2_500, utilization: 0.7 });
  utilization = 0.1;
  expect(read(250, 9_000, 510)).toEqual({ messagesPerSecond: 2_500, utilization: 0.7 });
  expect(read(1_200, 2_000, 510)).toEqual({ messagesPerSecond: 0, utilization: 0.1 });
});
