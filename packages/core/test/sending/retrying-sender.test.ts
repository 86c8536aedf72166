import { getEventListeners } from "node:events";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import type { AttemptOutcome } from "../../src/sending/outcome.js";
import { DeadlineReached, Pauses } from "../../src/sending/pauses.js";
import { retryingSender } from "../../src/sending/retrying-sender.js";
import { batchOf, scriptedSender } from "../doubles/scripted-sender.js";

const DELIVERED = { kind: "delivered", status: 200, rejected: [] } as const;
const UNAVAILABLE = { kind: "retryable", status: 503, reason: "HTTP 503" } as const;

function retrying(script: Parameters<typeof scriptedSender<AttemptOutcome>>[0]) {
  const clock = manualClock({ startMs: 0 });
  const pauses = new Pauses(clock);
  const inner = scriptedSender<AttemptOutcome>(script, clock.turn);
  const policy = { maxRetries: 2, maxTotalMs: 60_000 };
  return { clock, pauses, inner, sender: retryingSender(inner, { policy, pauses, clock }) };
}

const open = new AbortController().signal;

describe("retryingSender", () => {
  it.each<[name: string, outcome: AttemptOutcome]>([
    ["delivered", DELIVERED],
    ["rejected", { kind: "rejected", status: 400, reason: "no" }],
    ["too large", { kind: "too_large", status: 413, reason: "too large" }],
  ])("returns an outcome that no retry changes at once: %s", async (_name, outcome) => {
    const { sender, inner, clock } = retrying([outcome]);
    expect(await sender.send(batchOf("a"), open)).toBe(outcome);
    expect(inner.sends).toEqual([{ messageIds: ["a"], attempt: 1 }]);
    expect(clock.slept).toEqual([]);
  });

  it("repeats the same batch, counting attempts, until it is delivered", async () => {
    const { sender, inner, clock } = retrying([UNAVAILABLE, UNAVAILABLE, DELIVERED]);
    const sent = sender.send(batchOf("a", "b"), open);
    await clock.advance(1_000);
    expect(await sent).toBe(DELIVERED);
    expect(inner.sends.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(inner.sends.every(({ messageIds }) => messageIds.join() === "a,b")).toBe(true);
    expect(clock.slept).toEqual([90, 180]);
  });

  it("gives up after maxRetries with the last status and the number of attempts", async () => {
    const { sender, clock } = retrying([UNAVAILABLE, UNAVAILABLE, { ...UNAVAILABLE, status: 502 }]);
    const sent = sender.send(batchOf("a"), open);
    await clock.advance(1_000);
    expect(await sent).toEqual({ kind: "exhausted", status: 502, reason: "HTTP 503", attempts: 3 });
  });

  it("does not count retries that the server asked for", async () => {
    const asked = { ...UNAVAILABLE, retryAfterMs: 2_000 };
    const { sender, inner, clock } = retrying([asked, asked, asked, asked, DELIVERED]);
    const sent = sender.send(batchOf("a"), open);
    await clock.advance(8_000);
    expect(await sent).toBe(DELIVERED);
    expect(inner.sends).toHaveLength(5);
  });

  it("ends a wait at the deadline, without another attempt", async () => {
    const { sender, inner, clock } = retrying([{ ...UNAVAILABLE, retryAfterMs: 30_000 }]);
    const deadline = new AbortController();
    const sent = sender.send(batchOf("a"), deadline.signal);
    await clock.advance(1_000);
    deadline.abort(new DeadlineReached("exit_deadline"));
    expect(await sent).toEqual({ kind: "abandoned", deadline: "exit_deadline" });
    expect(inner.sends).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it("sends nothing once the deadline has passed", async () => {
    const { sender, inner } = retrying([DELIVERED]);
    const signal = AbortSignal.abort(new DeadlineReached("close_deadline"));
    expect(await sender.send(batchOf("a"), signal)).toEqual({
      kind: "abandoned",
      deadline: "close_deadline",
    });
    expect(inner.sends).toEqual([]);
  });

  it("delays other batches of the client after a 429", async () => {
    const { sender, inner, clock } = retrying([
      { kind: "retryable", status: 429, reason: "slow down", retryAfterMs: 5_000 },
      DELIVERED,
    ]);
    const first = sender.send(batchOf("a"), open);
    await clock.advance(0);
    const second = sender.send(batchOf("b"), open);
    await clock.advance(4_999);
    expect(inner.sends).toHaveLength(1);
    await clock.advance(1);
    expect(await Promise.all([first, second])).toEqual([DELIVERED, DELIVERED]);
  });

  it("delays the next batch after a 429 for which it gives up", async () => {
    const { sender, inner, clock } = retrying([
      { kind: "retryable", status: 429, reason: "slow down", retryAfterMs: 300_000 },
      DELIVERED,
    ]);
    expect(await sender.send(batchOf("a"), open)).toMatchObject({ kind: "exhausted" });
    const next = sender.send(batchOf("a"), open);
    await clock.advance(299_999);
    expect(inner.sends).toHaveLength(1);
    await clock.advance(1);
    expect(await next).toEqual(DELIVERED);
  });

  it("retries at once when backoffs are cut short", async () => {
    const { sender, pauses, clock } = retrying([UNAVAILABLE, DELIVERED]);
    const sent = sender.send(batchOf("a"), open);
    await clock.advance(0);
    pauses.cutShort();
    expect(await sent).toBe(DELIVERED);
    expect(clock.now()).toBe(0);
  });

  it("asks nobody any more when the deadline passes while the answer is on its way", async () => {
    const deadline = new AbortController();
    const { sender, clock } = retrying([
      () => {
        deadline.abort(new DeadlineReached("close_deadline"));
        return UNAVAILABLE;
      },
    ]);
    expect(await sender.send(batchOf("a"), deadline.signal)).toMatchObject({ kind: "abandoned" });
    expect(clock.slept).toEqual([]);
  });

  it("does not count a retry that the server asked for among those it may make of its own", async () => {
    const asked = { ...UNAVAILABLE, retryAfterMs: 1_000 };
    const { sender, inner, clock } = retrying([asked, asked, UNAVAILABLE, UNAVAILABLE, UNAVAILABLE]);
    const sent = sender.send(batchOf("a"), open);
    await clock.advance(10_000);
    expect(await sent).toMatchObject({ kind: "exhausted", attempts: 5 });
    expect(inner.sends).toHaveLength(5);
  });

  it.each([
    ["ends at the deadline", "deadline"],
    ["that has ended is not cut short", "cut"],
  ])("a backoff %s, and leaves nothing behind", async (_name, how) => {
    const deadline = new AbortController();
    const { sender, pauses, inner, clock } = retrying([UNAVAILABLE, UNAVAILABLE, DELIVERED]);
    const sent = sender.send(batchOf("a"), deadline.signal);
    await clock.advance(0);
    if (how === "deadline") {
      deadline.abort(new DeadlineReached("close_deadline"));
      expect(await sent).toMatchObject({ kind: "abandoned" });
      expect(inner.sends).toHaveLength(1);
    } else {
      await clock.advance(90);
      expect(inner.sends).toHaveLength(2);
      pauses.cutShort();
      expect(await sent).toBe(DELIVERED);
    }
    pauses.cutShort();
    expect([clock.pending, getEventListeners(deadline.signal, "abort").length]).toEqual([0, 0]);
  });

  it("does not wait for a backoff that begins after the deadline", async () => {
    const { pauses, clock } = retrying([DELIVERED]);
    await pauses.beforeRetry({ kind: "retry", delayMs: 60_000, asked: false }, AbortSignal.abort());
    expect(clock.pending).toBe(0);
  });
});
