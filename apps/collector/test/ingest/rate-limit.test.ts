import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import { type Allowance, decideRate, type RateDecision, rateLimiter } from "../../src/ingest/rate-limit.js";

const at = (messages: number, atMs = 0): Allowance => ({ messages, atMs });
const admitted = (messages: number, atMs: number): RateDecision => ({
  kind: "admitted",
  allowance: at(messages, atMs),
});
const limited = (retryAfterSeconds: number): RateDecision => ({ kind: "limited", retryAfterSeconds });

test.each<
  [
    name: string,
    before: Allowance | undefined,
    messages: number,
    perSecond: number,
    nowMs: number,
    decision: RateDecision,
  ]
>([
  ["a source seen first", undefined, 1, 10, 5, admitted(9, 5)],
  ["a batch larger than the rate gets through once", undefined, 100, 10, 0, admitted(-90, 0)],
  ["and is paid for afterwards", at(-90), 1, 10, 0, limited(9)],
  ["in part", at(-90), 1, 10, 4_000, limited(5)],
  ["to the end", at(-90), 1, 10, 9_001, admitted(-0.99, 9_001)],
  ["whole seconds, rounded up", at(-1), 1, 10, 0, limited(1)],
  ["nothing left", at(0), 1, 10, 0, limited(1)],
  ["asking without counting", at(5), 0, 10, 0, admitted(5, 0)],
  ["grows with time", at(5), 1, 10, 300, admitted(7, 300)],
  ["up to one second's worth", at(5), 1, 10, 3_600_000, admitted(9, 3_600_000)],
  ["a clock that was set back gives nothing", at(5, 10_000), 1, 10, 0, admitted(4, 0)],
])("%s", (_name, before, messages, perSecond, nowMs, decision) => {
  const decided = decideRate(before, messages, perSecond, nowMs);
  if (decided.kind === "admitted" && decision.kind === "admitted") {
    expect(decided.allowance.messages).toBeCloseTo(decision.allowance.messages);
    expect(decided.allowance.atMs).toBe(decision.allowance.atMs);
  } else expect(decided).toEqual(decision);
});

test("over a minute, a source that never stops gets its rate, and no other is touched", async () => {
  const clock = manualClock();
  const limiter = rateLimiter(clock);
  let taken = 0;
  for (let i = 0; i < 600; i++) {
    if (limiter.admit("busy", 30, 100) === undefined) taken += 30;
    expect(limiter.admit("calm", 1, 100)).toBeUndefined();
    await clock.advance(100);
  }
  expect(taken).toBeGreaterThanOrEqual(60 * 100);
  // One second's worth at the start, and the batch that went below zero.
  expect(taken).toBeLessThanOrEqual(61 * 100 + 30);
});
