import { describe, expect, it } from "vitest";
import { decideRetry, type RetryDecision, type RetrySituation } from "../../src/sending/decide-retry.js";

describe("decideRetry", () => {
  const policy = { maxRetries: 10, maxTotalMs: 43_200_000 };
  const at = (situation: Partial<RetrySituation>): RetryDecision =>
    decideRetry(policy, {
      countedRetries: 0,
      elapsedMs: 0,
      retryAfterMs: undefined,
      random: 0.999,
      ...situation,
    });

  it.each<[name: string, situation: Partial<RetrySituation>, decision: RetryDecision]>([
    ["the first retry", {}, { kind: "retry", delayMs: 99, asked: false }],
    ["with the least jitter", { random: 0 }, { kind: "retry", delayMs: 80, asked: false }],
    ["doubles", { countedRetries: 3, random: 0 }, { kind: "retry", delayMs: 640, asked: false }],
    ["is capped at 10 s", { countedRetries: 9, random: 0 }, { kind: "retry", delayMs: 8_000, asked: false }],
    ["gives up after the last", { countedRetries: 10 }, { kind: "give_up" }],
    [
      "waits as long as the server asks",
      { retryAfterMs: 5_000 },
      { kind: "retry", delayMs: 5_000, asked: true },
    ],
    [
      "and does not count that retry",
      { countedRetries: 10, retryAfterMs: 5_000 },
      { kind: "retry", delayMs: 5_000, asked: true },
    ],
    [
      "retries at once if the server asks for it",
      { retryAfterMs: 0 },
      { kind: "retry", delayMs: 0, asked: false },
    ],
    [
      "but from the second retry on waits as long as without it",
      { countedRetries: 1, retryAfterMs: 0, random: 0 },
      { kind: "retry", delayMs: 160, asked: false },
    ],
    ["and counts those retries", { countedRetries: 10, retryAfterMs: 0 }, { kind: "give_up" }],
    ["less than a second counts too", { countedRetries: 10, retryAfterMs: 999 }, { kind: "give_up" }],
    [
      "less than a second is a minimum from the second retry on",
      { countedRetries: 1, retryAfterMs: 500 },
      { kind: "retry", delayMs: 500, asked: false },
    ],
    [
      "and gives up after the total time",
      { elapsedMs: 43_199_999, retryAfterMs: 5_000 },
      { kind: "give_up" },
    ],
    [
      "but retries at the last moment of it",
      { elapsedMs: 43_195_000, retryAfterMs: 5_000 },
      { kind: "retry", delayMs: 5_000, asked: true },
    ],
    [
      "a whole second that the server asks for is not counted",
      { countedRetries: 10, retryAfterMs: 1_000 },
      { kind: "retry", delayMs: 1_000, asked: true },
    ],
    [
      "less than a second is obeyed at the first retry",
      { retryAfterMs: 50 },
      { kind: "retry", delayMs: 50, asked: false },
    ],
  ])("%s", (_name, situation, decision) => {
    expect(at(situation)).toEqual(decision);
  });

  it.each([0, 0.5, 0.999])("outlasts an outage of 30 s, with random at %s", (random) => {
    let totalMs = 0;
    for (let countedRetries = 0; countedRetries < 100; countedRetries++) {
      const decision = at({ countedRetries, random });
      if (decision.kind === "give_up") break;
      totalMs += decision.delayMs;
    }
    expect(totalMs).toBeGreaterThan(30_000);
  });
});
