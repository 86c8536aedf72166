import type { Offset } from "@sluice/event-log";
import { describe, expect, test } from "vitest";
import { UserOrder } from "../../src/delivery/ordering/user-order.js";

const at = (offset: number) => offset as Offset;
const ANN = 1;
const BOB = 2;

function newOrder(): UserOrder<Offset> {
  return new UserOrder(
    (offset) => offset,
    () => 0,
  );
}

describe("the queue of a deleted user", () => {
  test("drops its stored messages, so that a new message starts at once", () => {
    const order = newOrder();
    order.join(ANN, at(1));
    order.failed(ANN, at(1));
    order.stored(ANN, at(2));
    expect(order.join(ANN, at(3))).toBe("store");
    order.stored(ANN, at(3));
    expect(order.dropGone(ANN, (offset) => offset <= 3)).toBe(false);
    expect([order.join(ANN, at(4)), order.behind]).toEqual(["start", 0]);
  });

  test("keeps messages in flight and later messages", () => {
    const order = newOrder();
    order.join(ANN, at(1));
    order.failed(ANN, at(1));
    order.stored(ANN, at(2));
    order.stored(ANN, at(5));
    order.resume(ANN, at(1));
    expect(order.dropGone(ANN, (offset) => offset <= 2)).toBe(false);
    expect(order.leave(ANN, at(1))).toEqual({ kind: "look" });
  });

  test("asks for later messages when the one that they waited for is gone", () => {
    const order = newOrder();
    order.join(ANN, at(1));
    order.failed(ANN, at(1));
    order.stored(ANN, at(5));
    expect(order.dropGone(ANN, (offset) => offset <= 2)).toBe(true);
    expect([order.isLooking(ANN), order.join(ANN, at(6))]).toEqual([true, "store"]);
  });

  test("is found by its first offset, because the message itself is deleted", () => {
    const order = newOrder();
    order.failed(ANN, at(1));
    order.failed(BOB, at(2));
    expect(order.laneAt(at(2))).toBe(BOB);
    expect(order.laneAt(at(3))).toBeUndefined();
  });
});
