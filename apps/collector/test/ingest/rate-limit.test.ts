import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import {
  bucketsOfProcess,
  decideRate,
  type RateDecision,
  rateLimiter,
  rateOf,
  sharedBuckets,
} from "../../src/ingest/sources/rate-limit.js";

const admitted = (fullAtMs: number): RateDecision => ({ kind: "admitted", fullAtMs });
const limited = (retryAfterSeconds: number): RateDecision => ({ kind: "limited", retryAfterSeconds });

/** When a bucket of 10 a second with so many tokens is full. */
const with10 = (tokens: number): number => 1_000 - tokens * 100;

test.each<
  [name: string, fullAtMs: number, messages: number, perSecond: number, nowMs: number, decision: RateDecision]
>([
  ["a new source", Number.NEGATIVE_INFINITY, 1, 10, 5, admitted(105)],
  ["a batch larger than the rate gets through once", 0, 100, 10, 0, admitted(with10(-90))],
  ["its debt is paid first", with10(-90), 1, 10, 0, limited(9)],
  ["debt paid in part", with10(-90), 1, 10, 4_000, limited(5)],
  ["debt paid off", with10(-90), 1, 10, 9_001, admitted(with10(-91))],
  ["whole seconds, rounded up", with10(-1), 1, 10, 0, limited(1)],
  ["nothing left", with10(0), 1, 10, 0, limited(1)],
  ["asking without counting", with10(5), 0, 10, 0, admitted(with10(5))],
  ["refills with time", with10(5), 1, 10, 300, admitted(with10(4))],
  ["up to one second's worth", with10(5), 1, 10, 3_600_000, admitted(3_600_100)],
])("%s", (_name, fullAtMs, messages, perSecond, nowMs, decision) => {
  expect(decideRate(fullAtMs, messages, perSecond, nowMs)).toEqual(decision);
});

test("several threads count against one limit", async () => {
  const clock = manualClock();
  const memory = sharedBuckets();
  const limiters = [1, 2, 3].map(() => rateLimiter(clock, undefined, bucketsOfProcess(memory)));
  const admits = (source: string, rateLimit = 100): number => {
    let taken = 0;
    for (let i = 0; i < 300; i++)
      try {
        limiters[i % 3]?.admit({ id: source, kind: "server", rateLimit }, 1);
        taken += 1;
      } catch {}
    return taken;
  };
  expect(admits("one")).toBe(100);
  expect(admits("other")).toBe(100);
  await clock.advance(500);
  expect(admits("one")).toBe(50);
  expect(admits("one", 200)).toBe(200);
});

test("over a minute, a source that never stops gets its rate, and other sources are not limited", async () => {
  const clock = manualClock();
  const limiter = rateLimiter(clock, undefined);
  const admits = (id: string, messages: number): boolean => {
    try {
      limiter.admit({ id, kind: "server", rateLimit: 100 }, messages);
      return true;
    } catch {
      return false;
    }
  };
  let taken = 0;
  for (let i = 0; i < 600; i++) {
    if (admits("busy", 30)) taken += 30;
    expect(admits("calm", 1)).toBe(true);
    await clock.advance(100);
  }
  expect(taken).toBeGreaterThanOrEqual(60 * 100);
  // One second's worth at the start, and the batch that went below zero.
  expect(taken).toBeLessThanOrEqual(61 * 100 + 30);
});

test.each([
  ["server", "auto", 50_000],
  ["web", "auto", 10_000],
  ["mobile", "auto", 10_000],
  ["server", 7, 7],
  ["web", undefined, undefined],
] as const)("a %s source without a limit of its own, by the setting %s", (kind, setting, rate) => {
  expect(rateOf({ kind }, setting)).toBe(rate);
});
