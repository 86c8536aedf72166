import { describe, expect, it } from "vitest";
import {
  fullBucket,
  msUntilTokens,
  refill,
  type TokenBucket,
  type TokenBucketRate,
  takeTokens,
} from "../src/index.js";
import { manualClock } from "../src/testing.js";

const RATE: TokenBucketRate = { perSecond: 10, capacity: 20 };

describe("refill", () => {
  it.each<[name: string, before: TokenBucket, rate: TokenBucketRate, nowMs: number, after: TokenBucket]>([
    ["adds the rate", { tokens: 5, atMs: 0 }, RATE, 500, { tokens: 10, atMs: 500 }],
    ["adds parts of a token", { tokens: 0, atMs: 0 }, RATE, 50, { tokens: 0.5, atMs: 50 }],
    ["stops at the capacity", { tokens: 5, atMs: 0 }, RATE, 60_000, { tokens: 20, atMs: 60_000 }],
    ["pays a debt first", { tokens: -15, atMs: 0 }, RATE, 1_000, { tokens: -5, atMs: 1_000 }],
    [
      "adds nothing for a reading from the past",
      { tokens: 5, atMs: 900 },
      RATE,
      100,
      { tokens: 5, atMs: 900 },
    ],
    [
      "takes a new rate from the call on",
      { tokens: 5, atMs: 0 },
      { perSecond: 1, capacity: 20 },
      2_000,
      { tokens: 7, atMs: 2_000 },
    ],
    [
      "cuts down to a smaller capacity",
      { tokens: 15, atMs: 0 },
      { perSecond: 1, capacity: 2 },
      0,
      { tokens: 2, atMs: 0 },
    ],
    [
      "adds nothing at a rate of 0",
      { tokens: 5, atMs: 0 },
      { perSecond: 0, capacity: 20 },
      9,
      { tokens: 5, atMs: 9 },
    ],
  ])("%s", (_name, before, rate, nowMs, after) => {
    expect(refill(before, rate, nowMs)).toEqual(after);
  });
});

describe("msUntilTokens", () => {
  it.each<[name: string, tokens: number, rate: TokenBucketRate, count: number, ms: number]>([
    ["now, if they are there", 3, RATE, 3, 0],
    ["the time for those that are missing", 1, RATE, 3, 200],
    ["rounded up to a whole millisecond", 0, { perSecond: 3, capacity: 3 }, 1, 334],
    ["with a debt to pay first", -10, RATE, 1, 1_100],
    ["until a debt is paid", -10, RATE, 0, 1_000],
    ["never, over the capacity", 20, RATE, 21, Number.POSITIVE_INFINITY],
    ["never, at a rate of 0", 0, { perSecond: 0, capacity: 20 }, 1, Number.POSITIVE_INFINITY],
  ])("%s", (_name, tokens, rate, count, ms) => {
    expect(msUntilTokens({ tokens, atMs: 0 }, rate, count)).toBe(ms);
  });

  it("is the moment at which the refilled bucket has them", () => {
    const empty = { tokens: 0, atMs: 1_000 };
    const rate = { perSecond: 7, capacity: 7 };
    const ms = msUntilTokens(empty, rate, 3);
    expect(refill(empty, rate, 1_000 + ms).tokens).toBeGreaterThanOrEqual(3);
    expect(refill(empty, rate, 1_000 + ms - 1).tokens).toBeLessThan(3);
  });
});

it("lets a burst of the capacity through, then the rate", async () => {
  const clock = manualClock({ startMs: 0 });
  let bucket = fullBucket(RATE, clock.monotonic());
  const admittedAt: number[] = [];
  for (let request = 0; request < 23; request++) {
    bucket = refill(bucket, RATE, clock.monotonic());
    await clock.advance(msUntilTokens(bucket, RATE, 1));
    bucket = takeTokens(refill(bucket, RATE, clock.monotonic()), 1);
    admittedAt.push(clock.monotonic());
  }
  expect(admittedAt).toEqual([...Array<number>(20).fill(0), 100, 200, 300]);
});
