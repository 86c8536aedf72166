import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { runBatch } from "../src/sandboxes.js";
import type { BatchAnswer } from "../src/thread/answer.js";

const DEADLINE_MS = 1_000;

/**
 * Runs messages of which each takes some milliseconds: those that take longer than the deadline are stopped. `isKnown`: whether the thread
 * can tell which. Answers what became of each (`.` the same, `x` failed), the attempts, and the time.
 */
async function run(costs: readonly number[], isKnown = true) {
  const clock = manualClock();
  const attempts: string[] = [];
  const startMs = clock.monotonic();
  const attempt = async (from: number, to: number): Promise<BatchAnswer> => {
    attempts.push(`${from}-${to}`);
    let usedMs = 0;
    for (let i = from; i < to; i++) {
      usedMs += costs[i] as number;
      if (usedMs <= DEADLINE_MS) continue;
      await clock.advance(DEADLINE_MS);
      const failure = { code: "timeout" as const, message: "late" };
      const done = isKnown ? Array.from({ length: i - from }, () => "same" as const) : [];
      return { done, stopped: { failure, logs: [], isKnown } };
    }
    await clock.advance(usedMs);
    return { done: Array.from({ length: to - from }, () => "same" as const) };
  };
  const results = await runBatch(costs.length, attempt);
  return {
    outcome: results.map((one) => (one === "same" ? "." : "x")).join(""),
    last: results.at(-1),
    attempts,
    tookMs: clock.monotonic() - startMs,
  };
}

const LOOP = 1e9;

describe("runBatch", () => {
  it.each([
    ["all are fast", [1, 1, 1], true, "...", ["0-3"]],
    ["one loops", [1, 1, LOOP, 1, 1], true, "..x..", ["0-5", "2-5", "3-5"]],
    ["the first loops", [LOOP, 1, 1], true, "x..", ["0-3", "1-3"]],
    ["all together are too slow, none alone", [600, 600, 600], true, "...", ["0-3", "1-3", "2-3"]],
    [
      "one loops and the thread was ended",
      [1, 1, LOOP, 1, 1],
      false,
      "..x..",
      ["0-5", "0-1", "1-2", "2-3", "3-4", "4-5"],
    ],
    [
      "two loop behind each other and the thread was ended",
      [1, LOOP, LOOP, 1, 1, 1],
      false,
      ".xx...",
      ["0-6", "0-1", "1-2", "2-3", "3-4", "4-6"],
    ],
    ["the only one loops and the thread was ended", [LOOP], false, "x", ["0-1"]],
  ])("%s", async (_, costs, isKnown, outcome, attempts) => {
    expect(await run(costs, isKnown)).toMatchObject({ outcome, attempts });
  });

  it("gives up after three in a row", async () => {
    const { outcome, tookMs, last } = await run(Array(100).fill(LOOP));
    expect(outcome).toBe("x".repeat(100));
    expect(tookMs).toBe(3 * DEADLINE_MS);
    expect(last).toMatchObject({ code: "timeout", message: expect.stringContaining("it was not tried") });
  });

  it("gives up after one more if the thread was ended each time", async () => {
    const { outcome, tookMs } = await run(Array(100).fill(LOOP), false);
    expect([outcome, tookMs]).toEqual(["x".repeat(100), 4 * DEADLINE_MS]);
  });

  it("gives up after ten stops, however many succeed in between", async () => {
    const { outcome, tookMs, last } = await run(Array.from({ length: 100 }, (_, n) => (n % 2 ? LOOP : 1)));
    expect(outcome.startsWith(".x.x.x")).toBe(true);
    expect(outcome.endsWith("x".repeat(80))).toBe(true);
    expect(tookMs).toBeLessThanOrEqual(11 * DEADLINE_MS);
    expect(last).toMatchObject({ message: expect.stringContaining("its batch took too long") });
  });

  it("fails what was not tried when the sandboxes are closed", async () => {
    const failure = { code: "closed" as const, message: "closed" };
    const attempt = async (): Promise<BatchAnswer> => ({
      done: ["same"],
      stopped: { failure, logs: [], isKnown: false },
    });
    const results = await runBatch(3, attempt);
    expect(results).toEqual(["same", ...Array(2).fill({ kind: "failed", ...failure, logs: [] })]);
  });
});
