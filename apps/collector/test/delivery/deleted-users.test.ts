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

describe("the line of a user who was deleted", () => {
  test("loses its parked messages: a new one begins at once", () => {
    const order = new UserOrder<string>();
    order.park("ann", retryOf(1));
    order.park("ann", retryOf(2));
    expect(order.join("ann", at(3), "waits for them")).toBe("park");
    order.dropParked("ann", (offset) => offset <= 2);
    expect(order.join("ann", at(4), "new")).toBe("start");
  });

  test("keeps what is under way, and what came later", () => {
    const order = new UserOrder<string>();
    expect(order.join("ann", at(1), "under way")).toBe("start");
    order.park("ann", retryOf(2));
    order.park("ann", retryOf(5));
    order.dropParked("ann", (offset) => offset <= 2);
    expect(order.leave("ann", at(1))).toEqual({ kind: "parked", retry: retryOf(5) });
  });

  test("is found by its first message, since the message itself is gone", () => {
    const order = new UserOrder<string>();
    order.park("ann", retryOf(1));
    order.park("bob", retryOf(2));
    expect(order.firstAt(at(2))).toBe("bob");
    expect(order.firstAt(at(3))).toBeUndefined();
  });
});
