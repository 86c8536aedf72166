import type { TokenBucket } from "@sluice/resilience";
import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import { decideRate, type RateDecision, rateLimiter, rateOf } from "../../src/ingest/sources/rate-limit.js";

const at = (tokens: number, atMs = 0): TokenBucket => ({ tokens, atMs });
const admitted = (tokens: number, atMs: number): RateDecision => ({
  kind: "admitted",
  bucket: at(tokens, atMs),
});
const limited = (retryAfterSeconds: number): RateDecision => ({ kind: "limited", retryAfterSeconds });

test.each<
  [
    name: string,
    before: TokenBucket | undefined,
    messages: number,
    perSecond: number,
    nowMs: number,
    decision: RateDecision,
  ]
>([
  ["a new source", undefined, 1, 10, 5, admitted(9, 5)],
  ["a batch larger than the rate gets through once", undefined, 100, 10, 0, admitted(-90, 0)],
  ["its debt is paid first", at(-90), 1, 10, 0, limited(9)],
  ["debt paid in part", at(-90), 1, 10, 4_000, limited(5)],
  ["debt paid off", at(-90), 1, 10, 9_001, admitted(-0.99, 9_001)],
  ["whole seconds, rounded up", at(-1), 1, 10, 0, limited(1)],
  ["nothing left", at(0), 1, 10, 0, limited(1)],
  ["asking without counting", at(5), 0, 10, 0, admitted(5, 0)],
  ["refills with time", at(5), 1, 10, 300, admitted(7, 300)],
  ["up to one second's worth", at(5), 1, 10, 3_600_000, admitted(9, 3_600_000)],
  ["a reading before the last one adds nothing", at(5, 10_000), 1, 10, 0, admitted(4, 10_000)],
])("%s", (_name, before, messages, perSecond, nowMs, decision) => {
  const decided = decideRate(before, messages, perSecond, nowMs);
  if (decided.kind === "admitted" && decision.kind === "admitted") {
    expect(decided.bucket.tokens).toBeCloseTo(decision.bucket.tokens);
    expect(decided.bucket.atMs).toBe(decision.bucket.atMs);
  } else expect(decided).toEqual(decision);
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
