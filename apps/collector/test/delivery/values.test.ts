import type { Offset, Retry } from "@sluice/event-log";
import { describe, expect, it } from "vitest";
import { DELIVERY_DEFAULTS } from "../../src/delivery/delivery-policy.js";
import { UserOrder } from "../../src/delivery/ordering/user-order.js";
import { cursorTracker } from "../../src/delivery/reading/cursor-tracker.js";
import { DestinationGate } from "../../src/delivery/sending/destination-gate.js";

const at = (offset: number): Offset => offset as Offset;

describe("the cursor", () => {
  it("stops before the first unfinished message, whatever the order in which messages finish", () => {
    const tracker = cursorTracker(at(-1));
    const places = [0, 1, 5, 6].map((offset) => tracker.add(at(offset)));
    const seen: number[] = [];
    for (const index of [2, 0, 3, 1]) {
      const place = places[index];
      if (place !== undefined) tracker.done(place);
      seen.push(tracker.cursor);
    }
    expect(seen).toEqual([-1, 0, 0, 6]);
  });

  it("skips unrelated messages only while nothing is in flight, and never goes back", () => {
    const tracker = cursorTracker(at(3));
    tracker.passed(at(10));
    const place = tracker.add(at(12));
    tracker.passed(at(20));
    expect(tracker.cursor).toBe(10);
    tracker.done(place);
    expect(tracker.cursor).toBe(12);
    tracker.passed(at(5));
    expect(tracker.cursor).toBe(12);
  });

  it("keeps its position over many thousands of messages", () => {
    const tracker = cursorTracker(at(-1));
    const open = [];
    for (let offset = 0; offset < 20_000; offset++) {
      open.push(tracker.add(at(offset)));
      const oldest = open.length > 50 ? open.shift() : undefined;
      if (oldest !== undefined) tracker.done(oldest);
    }
    expect(tracker.cursor).toBe(20_000 - 51);
    for (const place of open.reverse()) tracker.done(place);
    expect(tracker.cursor).toBe(19_999);
  });
});

describe("a rate limit", () => {
  const limited = (perSecond: number, nowMs: number): DestinationGate => {
    const gate = new DestinationGate(DELIVERY_DEFAULTS.breaker);
    gate.reset(perSecond, nowMs);
    return gate;
  };
  /** Starts as many rounds as the gate allows. */
  const takeAll = (
    gate: DestinationGate,
    nowMs: number,
  ): { taken: number; retryAtMs: number | undefined } => {
    for (let taken = 0; ; taken++) {
      const answer = gate.ask(nowMs);
      if (answer.kind !== "open") return { taken, retryAtMs: answer.untilMs };
      gate.enter(nowMs);
    }
  };

  it("allows a burst of one second, then one round per interval, and saves up at most one second", () => {
    const gate = limited(10, 0);
    expect(takeAll(gate, 0)).toEqual({ taken: 10, retryAtMs: 100 });
    expect(takeAll(gate, 99).taken).toBe(0);
    expect(takeAll(gate, 100).taken).toBe(1);
    expect(takeAll(gate, 60_000).taken).toBe(10);
  });

  it("waits for a whole round if the limit is below one per second", () => {
    const gate = limited(0.5, 0);
    expect(takeAll(gate, 0)).toEqual({ taken: 1, retryAtMs: 2_000 });
    expect(takeAll(gate, 2_000).taken).toBe(1);
  });

  it("allows nothing when the clock goes backwards", () => {
    const gate = limited(10, 1_000);
    takeAll(gate, 1_000);
    expect(takeAll(gate, 0).taken).toBe(0);
  });

  it("returns the permit of a round that found nothing to start", () => {
    const gate = limited(1, 0);
    gate.enter(0);
    gate.takeBack();
    expect(takeAll(gate, 0).taken).toBe(1);
  });
});

describe("the order of a user's messages", () => {
  const retry = (offset: number): Retry => ({
    offset: at(offset),
    rounds: 1,
    firstAttemptAtMs: 0,
    dueAtMs: 0,
    reason: "HTTP 503",
    doneUrls: [],
    replay: false,
  });

  it("starts one, keeps the next in memory, and returns it when the first is finished", () => {
    const order = new UserOrder<string>();
    expect([
      order.join("u", at(1), "one"),
      order.join("u", at(2), "two"),
      order.join("v", at(3), "three"),
    ]).toEqual(["start", "wait", "start"]);
    expect(order.waiting).toBe(1);
    expect(order.leave("u", at(1))).toEqual({ kind: "waiting", work: "two" });
    expect(order.waiting).toBe(0);
    expect(order.leave("u", at(2))).toBeUndefined();
    expect(order.join("u", at(4), "four")).toBe("start");
  });

  it("parks messages behind a failed one, and runs a retry only at the head", () => {
    const order = new UserOrder<string>();
    order.join("u", at(1), "one");
    order.join("u", at(2), "two");
    expect(order.waitingOf("u")).toEqual(["two"]);
    order.park("u", retry(1));
    order.park("u", retry(2));
    expect([order.waiting, order.join("u", at(3), "three")]).toEqual([0, "park"]);
    expect([order.resume("u", at(2)), order.resume("u", at(1))]).toEqual([false, true]);
    expect(order.leave("u", at(1))).toEqual({ kind: "parked", retry: retry(2) });
  });

  it("ignores a message that is in no queue, such as a replay", () => {
    const order = new UserOrder<string>();
    order.join("u", at(5), "five");
    expect(order.leave("u", at(1))).toBeUndefined();
    expect(order.leave("w", at(1))).toBeUndefined();
    expect(order.join("u", at(6), "six")).toBe("wait");
  });
});
