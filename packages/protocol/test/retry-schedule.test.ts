import { describe, expect, it } from "vitest";
import { RETRY_WINDOW, retrySchedule, retryTiming } from "../src/index.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("retryTiming", () => {
  it.each([
    ["1 min", MINUTE, { longestGapMs: 3.75 * SECOND, endMarginMs: 938 }],
    ["10 min", 10 * MINUTE, { longestGapMs: 37.5 * SECOND, endMarginMs: 9_375 }],
    ["4 h, the default", 4 * HOUR, { longestGapMs: 15 * MINUTE, endMarginMs: 10 * SECOND }],
    ["16 h", 16 * HOUR, { longestGapMs: HOUR, endMarginMs: 10 * SECOND }],
    ["7 d", 7 * DAY, { longestGapMs: HOUR, endMarginMs: 10 * SECOND }],
  ])("%s", (_name, windowMs, expected) => {
    expect(retryTiming(windowMs)).toEqual(expected);
  });
});

describe("retrySchedule", () => {
  it.each([
    [
      "1 min",
      MINUTE,
      { attempts: 32, first: [0, 1_000, 2_875, 4_750, 6_625], lastAtMs: 57_250, lastAttemptAfterMs: 56_250 },
    ],
    [
      "4 h, the default",
      4 * HOUR,
      {
        attempts: 39,
        first: [0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 127_000, 255_000, 511_000, 961_000],
        lastAtMs: 13_561_000,
        lastAttemptAfterMs: 3.75 * HOUR,
      },
    ],
    [
      "7 d",
      7 * DAY,
      {
        attempts: 345,
        first: [0, 1_000, 3_000, 7_000],
        lastAtMs: 601_447_000,
        lastAttemptAfterMs: 7 * DAY - HOUR,
      },
    ],
  ])("%s", (_name, windowMs, { attempts, first, lastAtMs, lastAttemptAfterMs }) => {
    const { attemptsAtMs, ...rest } = retrySchedule(windowMs);
    expect(attemptsAtMs.slice(0, first.length)).toEqual(first);
    expect(attemptsAtMs).toHaveLength(attempts);
    expect(attemptsAtMs.at(-1)).toBe(lastAtMs);
    expect(rest).toEqual({ longestGapMs: retryTiming(windowMs).longestGapMs, lastAttemptAfterMs });
  });

  it("takes an attempt at the very start of the last part for the last one", () => {
    const { attemptsAtMs, lastAttemptAfterMs } = retrySchedule(96_000);
    expect(attemptsAtMs.at(-1)).toBe(90_000);
    expect(lastAttemptAfterMs).toBe(90_000);
  });

  it("makes the last attempt in the last part of the window, for windows of every length", () => {
    for (let windowMs = RETRY_WINDOW.minMs; windowMs <= RETRY_WINDOW.maxMs; windowMs *= 1.37) {
      const { attemptsAtMs, lastAttemptAfterMs } = retrySchedule(Math.round(windowMs));
      expect(attemptsAtMs.at(-1)).toBeGreaterThanOrEqual(lastAttemptAfterMs);
      expect(attemptsAtMs.at(-1)).toBeLessThan(windowMs);
      expect(attemptsAtMs.at(-2)).toBeLessThan(lastAttemptAfterMs);
    }
  });
});
