import type { Offset, Retry } from "@sluice/event-log";
import { describe, expect, it } from "vitest";
import { DELIVERY_DEFAULTS } from "../../src/delivery/delivery-policy.js";
import { InFlight } from "../../src/delivery/in-flight.js";
import { laneOf } from "../../src/delivery/ordering/lane-of.js";
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
    expect(tracker.span).toBe(50);
    for (const place of open.reverse()) tracker.done(place);
    expect([tracker.cursor, tracker.span]).toEqual([19_999, 0]);
  });
});

describe("rounds in flight", () => {
  const MIB = 1_024 * 1_024;

  it.each<[name: string, bytes: readonly number[], hasRoom: boolean]>([
    ["no round", [], true],
    ["one below the concurrency", [1], true],
    ["as many as the concurrency", [1, 1], false],
    ["one message just below 3 MiB", [3 * MIB - 1], true],
    ["one message of 3 MiB", [3 * MIB], false],
  ])("%s", (_name, bytes, hasRoom) => {
    const inFlight = new InFlight();
    for (const one of bytes) inFlight.enter(one);
    expect(inFlight.hasRoom(2)).toBe(hasRoom);
    for (const one of bytes) inFlight.leave(one);
    expect([inFlight.hasRoom(1), inFlight.rounds]).toEqual([true, 0]);
  });

  it("are idle when the last has ended, or at once if there is none", async () => {
    const inFlight = new InFlight();
    await inFlight.idle();
    inFlight.enter(1);
    inFlight.enter(1);
    let isIdle = false;
    const idle = inFlight.idle().then(() => {
      isIdle = true;
    });
    inFlight.leave(1);
    await Promise.resolve();
    expect(isIdle).toBe(false);
    inFlight.leave(1);
    await idle;
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
  const ANN = 1;
  const BOB = 2;
  const retry = (offset: number): Retry => ({
    offset: at(offset),
    rounds: 0,
    firstAttemptAtMs: 0,
    dueAtMs: 0,
    reason: "waits",
    doneUrls: [],
    replay: false,
  });
  const newOrder = (): UserOrder<Offset> =>
    new UserOrder(
      (offset) => offset,
      () => 10,
    );
  const memory = ({ users, waiting, waitingBytes, next }: UserOrder<Offset>): number[] => [
    users,
    waiting,
    waitingBytes,
    next,
  ];

  it("starts one, keeps the next in memory, and returns it when the first is finished", () => {
    const order = newOrder();
    expect([order.join(ANN, at(1)), order.join(ANN, at(2)), order.join(BOB, at(3))]).toEqual([
      "start",
      "wait",
      "start",
    ]);
    expect(memory(order)).toEqual([2, 1, 10, 0]);
    expect(order.leave(ANN, at(1))).toEqual({ kind: "start", work: 2 });
    expect(memory(order)).toEqual([2, 0, 0, 0]);
    expect(order.leave(ANN, at(2))).toBeUndefined();
    expect(order.join(ANN, at(4))).toBe("start");
  });

  it("stores messages behind a failed one, and runs a retry only as the first", () => {
    const order = newOrder();
    order.join(ANN, at(1));
    order.join(ANN, at(2));
    expect(order.failed(ANN, at(1))).toEqual([2]);
    order.stored(ANN, at(2));
    expect(order.join(ANN, at(3))).toBe("store");
    order.stored(ANN, at(3));
    expect([memory(order), order.behind]).toEqual([[1, 0, 0, 0], 2]);
    expect([order.resume(ANN, at(2)), order.resume(ANN, at(1))]).toEqual([false, true]);
    expect(order.join(ANN, at(4))).toBe("store");
    order.stored(ANN, at(4));
    expect(order.leave(ANN, at(1))).toEqual({ kind: "look" });
    expect(order.found(ANN, [retry(2), retry(3)], order.reserve())).toEqual({
      kind: "resume",
      retry: retry(2),
    });
    expect([memory(order), order.behind]).toEqual([[1, 0, 0, 1], 2]);
    expect(order.resume(ANN, at(2))).toBe(true);
    expect(order.leave(ANN, at(2))).toEqual({ kind: "resume", retry: retry(3) });
    expect(order.leave(ANN, at(3))).toEqual({ kind: "look" });
    expect(order.found(ANN, [retry(4)], order.reserve())).toEqual({ kind: "resume", retry: retry(4) });
    expect(order.leave(ANN, at(4))).toBeUndefined();
    expect([memory(order), order.behind]).toEqual([[0, 0, 0, 0], 0]);
  });

  it("keeps the retries of a user that fails again in the store only", () => {
    const order = newOrder();
    order.join(ANN, at(1));
    order.failed(ANN, at(1));
    for (const offset of [2, 3, 4]) order.stored(ANN, at(offset));
    order.resume(ANN, at(1));
    order.leave(ANN, at(1));
    order.found(ANN, [2, 3, 4].map(retry), order.reserve());
    expect(order.failed(ANN, at(2))).toEqual([]);
    expect(memory(order)).toEqual([1, 0, 0, 0]);
    order.resume(ANN, at(2));
    expect(order.leave(ANN, at(2))).toEqual({ kind: "look" });
  });

  it("asks the store again if it held nothing yet, and not if what it held is gone", () => {
    const order = newOrder();
    order.join(ANN, at(1));
    order.failed(ANN, at(1));
    order.stored(ANN, at(2));
    order.resume(ANN, at(1));
    order.leave(ANN, at(1));
    expect(order.join(ANN, at(3))).toBe("store");
    order.stored(ANN, at(3));
    expect(order.found(ANN, [], order.reserve())).toEqual({ kind: "look" });
    expect(order.found(ANN, [], order.reserve())).toBeUndefined();
    expect([memory(order), order.behind]).toEqual([[0, 0, 0, 0], 0]);
  });

  it("starts with the first of a lane of the store, and stores what waits behind it", () => {
    const order = newOrder();
    order.join(BOB, at(12));
    order.join(BOB, at(13));
    expect(order.restore({ lane: ANN, first: retry(5), last: at(11), count: 3 })).toEqual([]);
    expect(order.restore({ lane: BOB, first: retry(6), last: at(6), count: 1 })).toEqual([13]);
    order.stored(BOB, at(13));
    expect([order.behind, order.join(ANN, at(14))]).toEqual([4, "store"]);
    expect([order.resume(ANN, at(11)), order.resume(ANN, at(5))]).toEqual([false, true]);
    expect(order.leave(BOB, at(12))).toEqual({ kind: "look" });
    expect(order.found(BOB, [retry(6), retry(13)], order.reserve())).toMatchObject({ kind: "resume" });
  });

  it("holds as much for 30,000 messages behind a failed one as for one", () => {
    const order = newOrder();
    order.join(ANN, at(0));
    order.failed(ANN, at(0));
    let asked = 0;
    for (let offset = 1; offset <= 30_000; offset++) {
      order.dropGone(ANN, () => {
        asked += 1;
        return false;
      });
      if (order.join(ANN, at(offset)) === "store") order.stored(ANN, at(offset));
    }
    expect([order.behind, asked]).toEqual([30_000, 30_000]);
    expect(memory(order)).toEqual([1, 0, 0, 0]);
  });

  it("takes few retries into memory, however many users ask at once", () => {
    const order = newOrder();
    const limits: number[] = [];
    for (let lane = 0; lane < 5_000; lane++) limits.push(order.reserve());
    expect(Math.max(...limits)).toBe(50);
    expect(limits.at(-1)).toBe(1);
    expect(order.next).toBeLessThan(6_100);
  });

  it("stores what waits in memory on demand, and asks for it when its turn comes", () => {
    const order = newOrder();
    for (const offset of [1, 2, 3]) order.join(ANN, at(offset));
    order.join(BOB, at(4));
    const taken = order.takeWaiting();
    expect([taken, memory(order)]).toEqual([[[ANN, [2, 3]]], [2, 0, 0, 0]]);
    for (const offset of [2, 3]) order.stored(ANN, at(offset));
    expect([order.join(ANN, at(5)), order.leave(ANN, at(1))]).toEqual(["store", { kind: "look" }]);
    expect(order.join(BOB, at(6), false)).toBe("store");
  });

  it("ignores a message that is in no lane, such as a replay", () => {
    const order = newOrder();
    order.join(ANN, at(5));
    expect(order.leave(ANN, at(1))).toBeUndefined();
    expect(order.leave(BOB, at(1))).toBeUndefined();
    expect(order.join(ANN, at(6))).toBe("wait");
  });

  it("goes on after one that somebody discarded", () => {
    const order = newOrder();
    order.join(ANN, at(1));
    order.failed(ANN, at(1));
    order.stored(ANN, at(2));
    order.stored(ANN, at(3));
    expect([order.leave(ANN, at(2)), order.behind]).toEqual([undefined, 1]);
    expect(order.leave(ANN, at(1))).toEqual({ kind: "look" });
    expect(order.found(ANN, [retry(3)], order.reserve())).toEqual({ kind: "resume", retry: retry(3) });
  });
});

describe("the lane of a user", () => {
  it.each([
    [{ userId: "ann", anonymousId: "x" }, 5_009_271_815_946_492],
    [{ anonymousId: "ann" }, 5_009_271_815_946_492],
    [{ userId: "anne" }, 8_956_636_357_875_075],
    [{}, 3_338_908_027_751_811],
  ])("of %j never changes, because it is stored", (message, lane) => {
    expect(laneOf({ type: "track", ...message })).toBe(lane);
  });

  it("is another one for each of 200,000 users", () => {
    const lanes = new Set<number>();
    for (let user = 0; user < 200_000; user++) lanes.add(laneOf({ type: "track", userId: `user-${user}` }));
    expect(lanes.size).toBe(200_000);
    expect([...lanes].every((lane) => Number.isSafeInteger(lane) && lane >= 0)).toBe(true);
  });
});
