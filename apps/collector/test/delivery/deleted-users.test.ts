import type { Offset, Retry } from "@sluice/event-log";
import { describe, expect, test } from "vitest";
import { UserOrder } from "../../src/delivery/ordering/user-order.js";

const at = (offset: number) => offset as Offset;

function retryOf(offset: number): Retry {
  return {
    offset: at(offset),
    rounds: 1,
    firstAttemptAtMs: 0,
    dueAtMs: 0,
    reason: "http_500",
    doneUrls: [],
    replay: false,
  };
}

describe("the queue of a deleted user", () => {
  test("drops its parked messages, so that a new message starts at once", () => {
    const order = new UserOrder<string>();
    order.park("ann", retryOf(1));
    order.park("ann", retryOf(2));
    expect(order.join("ann", at(3), "waits for them")).toBe("park");
    order.dropParked("ann", (offset) => offset <= 2);
    expect(order.join("ann", at(4), "new")).toBe("start");
  });

  test("keeps messages in flight and later messages", () => {
    const order = new UserOrder<string>();
    expect(order.join("ann", at(1), "under way")).toBe("start");
    order.park("ann", retryOf(2));
    order.park("ann", retryOf(5));
    order.dropParked("ann", (offset) => offset <= 2);
    expect(order.leave("ann", at(1))).toEqual({ kind: "parked", retry: retryOf(5) });
  });

  test("is found by its first offset, because the message itself is deleted", () => {
    const order = new UserOrder<string>();
    order.park("ann", retryOf(1));
    order.park("bob", retryOf(2));
    expect(order.firstAt(at(2))).toBe("bob");
    expect(order.firstAt(at(3))).toBeUndefined();
  });
});
