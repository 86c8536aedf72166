import type { Offset, Retry } from "@sluice/event-log";
import { describe, expect, it } from "vitest";
import { UserOrder } from "../../src/delivery/ordering/user-order.js";

const ANN = 1;
const BOB = 2;
const CAT = 3;
const at = (offset: number): Offset => offset as Offset;
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

/** Ann's lane in each of its states, with `behind` in the store. */
type Build = (...behind: readonly number[]) => UserOrder<Offset>;
const inFlight =
  (first: number): Build =>
  (...behind) => {
    const order = newOrder();
    order.join(ANN, at(first));
    for (const offset of behind) order.stored(ANN, at(offset));
    return order;
  };
const blocked =
  (first: number): Build =>
  (...behind) => {
    const order = newOrder();
    order.failed(ANN, at(first));
    for (const offset of behind) order.stored(ANN, at(offset));
    return order;
  };
/** The one before `behind` has ended. */
const looking: Build = (...behind) => {
  const order = blocked(1)(...behind);
  order.resume(ANN, at(1));
  order.leave(ANN, at(1));
  return order;
};
const none: Build = () => newOrder();

describe("the order of a user's messages", () => {
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
    order.failed(CAT, at(5));
    const taken = order.takeWaiting();
    expect([taken, memory(order)]).toEqual([[[ANN, [2, 3]]], [3, 0, 0, 0]]);
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

describe("a lane", () => {
  it("is begun by a message that fails, and by a retry that starts", () => {
    const failed = blocked(5)();
    expect(failed.failed(ANN, at(5))).toEqual([]);
    expect(failed.join(ANN, at(6))).toBe("store");
    const order = newOrder();
    expect([order.resume(ANN, at(5)), order.join(ANN, at(6))]).toEqual([true, "wait"]);
  });

  it("takes a message that fails out of turn behind its first, with those that wait", () => {
    const order = inFlight(1)();
    order.join(ANN, at(2));
    expect(order.failed(ANN, at(9))).toEqual([2]);
    expect([order.isFirst(ANN, at(1)), order.lastOf(ANN), order.behind]).toEqual([true, 9, 1]);
  });

  it("is in flight once its failed message starts again", () => {
    const order = blocked(1)();
    expect([order.resume(ANN, at(1)), order.join(ANN, at(2))]).toEqual([true, "wait"]);
  });

  it("starts no retry while the store is asked", () => {
    const order = looking(2);
    expect([order.resume(ANN, at(2)), order.isLooking(ANN)]).toEqual([false, true]);
  });

  it("counts a message that is put back if it was not known before", () => {
    const order = blocked(1)();
    order.putBack(ANN, at(7), false);
    expect([order.behind, order.lastOf(ANN)]).toEqual([1, 7]);
    order.putBack(ANN, at(7), true);
    order.putBack(ANN, at(5), false);
    expect([order.behind, order.lastOf(ANN)]).toEqual([2, 7]);
  });

  it("is known by its first message", () => {
    const order = blocked(1)();
    order.join(BOB, at(2));
    expect([1, 2, 9].map((offset) => order.laneAt(at(offset)))).toEqual([ANN, BOB, undefined]);
    expect([order.isFirst(ANN, at(1)), order.isFirst(ANN, at(2)), order.isFirst(CAT, at(1))]).toEqual([
      true,
      false,
      false,
    ]);
    expect([order.isLooking(ANN), order.isLooking(CAT), order.lastOf(CAT)]).toEqual([
      false,
      false,
      undefined,
    ]);
  });

  it("forgets what left the store without notice when its last message starts", () => {
    const order = looking(2, 3);
    expect(order.found(ANN, [retry(3)], order.reserve())).toEqual({ kind: "resume", retry: retry(3) });
    expect([order.behind, order.lastOf(ANN)]).toEqual([0, undefined]);
  });

  it("that does not exist takes nothing", () => {
    const order = newOrder();
    order.stored(ANN, at(1));
    order.putBack(ANN, at(1), false);
    expect(order.found(ANN, [retry(2)], order.reserve())).toBeUndefined();
    expect([memory(order), order.behind]).toEqual([[0, 0, 0, 0], 0]);
  });

  it("that is in flight again ignores what the store answers late", () => {
    const order = inFlight(1)();
    expect(order.found(ANN, [retry(2)], order.reserve())).toBeUndefined();
    expect([order.isFirst(ANN, at(1)), order.next]).toEqual([true, 0]);
  });

  it("gives back what it reserved if the store could not be asked", () => {
    const order = looking(2);
    order.release(order.reserve());
    expect([order.next, order.isLooking(ANN)]).toEqual([0, true]);
  });

  it.each<[discarded: number, then: readonly number[], behind: number]>([
    [3, [4], 3],
    [4, [3], 3],
    [9, [3, 4], 3],
    [99, [3, 4], 4],
  ])("from whose store %i is discarded goes on with %j", (discarded, then, behind) => {
    const order = looking(2, 3, 4, 5, 9);
    order.found(ANN, [2, 3, 4].map(retry), order.reserve());
    expect(order.leave(ANN, at(discarded))).toBeUndefined();
    expect(order.behind).toBe(behind);
    for (const [place, offset] of then.entries()) {
      const before = then[place - 1] ?? 2;
      expect(order.leave(ANN, at(before))).toEqual({ kind: "resume", retry: retry(offset) });
    }
  });
});

describe("a lane of the store", () => {
  const stored = { lane: ANN, first: retry(5), last: at(11), count: 3 };
  const single = { lane: ANN, first: retry(6), last: at(6), count: 1 };

  it.each<[name: string, before: Build, lane: typeof stored, first: number, behind: number, last?: number]>([
    ["nothing is known", none, stored, 5, 2, 11],
    ["nothing is known, and it has one message", none, single, 6, 0],
    ["an earlier one just failed, which is not stored yet", blocked(4), stored, 4, 3, 11],
    ["a later one just failed", blocked(7), stored, 5, 2, 11],
    ["its first is the one that failed", blocked(5), stored, 5, 2, 11],
    ["an earlier one is in flight", inFlight(3), stored, 3, 3, 11],
    ["its first is in flight", inFlight(5), stored, 5, 2, 11],
    ["one of it is in flight", inFlight(7), stored, 7, 2, 11],
    ["its last is in flight", inFlight(11), stored, 11, 2, 5],
    ["its only one is in flight", inFlight(6), single, 6, 0],
    ["a later one is in flight", inFlight(12), stored, 12, 3, 11],
  ])("is taken up where %s", (_name, before, lane, first, behind, last) => {
    const order = before();
    expect(order.restore(lane)).toEqual([]);
    expect([order.isFirst(ANN, at(first)), order.behind, order.lastOf(ANN)]).toEqual([true, behind, last]);
  });

  it("does not start while the store is asked", () => {
    const order = looking(2);
    expect(order.restore(stored)).toEqual([]);
    expect([order.isLooking(ANN), order.lastOf(ANN), order.behind]).toEqual([true, 11, 1]);
  });
});

describe("a user that was deleted up to a message", () => {
  it.each<[name: string, before: Build, isGone: (offset: Offset) => boolean, users: number]>([
    ["before the one that failed: it stays", blocked(5), (offset) => offset <= 4, 1],
    ["with the only one: the lane is gone", blocked(5), (offset) => offset <= 5, 0],
    ["with one in flight: that ends by itself", inFlight(5), () => true, 1],
  ])("%s", (_name, before, isGone, users) => {
    const order = before();
    expect(order.dropGone(ANN, isGone)).toBe(false);
    expect([order.users, order.isLooking(ANN)]).toEqual([users, false]);
  });

  it("with all that waits behind: the lane is gone", () => {
    const order = blocked(5)(6, 7);
    expect(order.dropGone(ANN, (offset) => offset <= 7)).toBe(false);
    expect([order.users, order.behind]).toEqual([0, 0]);
  });

  it("before the last that waits: the store is asked for the next", () => {
    const order = blocked(5)(6, 7);
    expect(order.dropGone(ANN, (offset) => offset <= 6)).toBe(true);
    expect(order.isLooking(ANN)).toBe(true);
    expect(order.found(ANN, [retry(7)], order.reserve())).toEqual({ kind: "resume", retry: retry(7) });
  });
});
