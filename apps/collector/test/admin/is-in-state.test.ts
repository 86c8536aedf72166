import type { DeliveryStateView, MessageView } from "@sluice/protocol";
import { expect, it } from "vitest";
import { isInState } from "../../src/admin/messages/is-in-state.js";

/** A message whose destinations `d0`, `d1`, … are in these states. */
function message(states: readonly DeliveryStateView[]): MessageView {
  const receivedAt = "2026-01-01T00:00:00.000Z";
  return {
    messageId: "m",
    sourceId: "s",
    receivedAt,
    state: "accepted",
    message: {},
    outcomes: states.map((state, i) => ({
      id: `${i}`,
      destinationId: `d${i}`,
      state,
      reason: "",
      attempts: [],
    })),
  };
}

it.each([
  ["any", ["delivered", "pending"], true],
  ["all", ["delivered", "pending"], false],
  ["all", ["delivered", "failed"], false],
  ["all", ["delivered", "delivered"], true],
  ["all", ["delivered", "filtered", "skipped", "suppressed"], true],
  ["all", ["filtered", "skipped"], false],
  ["any", ["failed", "pending"], false],
  ["all", [], false],
] as const)("delivered to %s of destinations that are %j: %s", (destinations, states, isDelivered) => {
  const which = { destinationId: undefined, destinations };
  expect(isInState(message(states), "delivered", which)).toBe(isDelivered);
});

it("only the named destination counts", () => {
  const found = message(["delivered", "failed"]);
  expect(isInState(found, "delivered", { destinationId: "d0", destinations: "all" })).toBe(true);
  expect(isInState(found, "delivered", { destinationId: "d1", destinations: "any" })).toBe(false);
});

it("accepted asks for no outcome", () => {
  const which = { destinationId: undefined, destinations: "all" } as const;
  expect(isInState(message([]), "accepted", which)).toBe(true);
});
