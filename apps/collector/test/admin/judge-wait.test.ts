import type { DeliveryStateView, MessageView } from "@sluice/control-api";
import { expect, it } from "vitest";
import { judgeWait } from "../../src/admin/messages/message-endpoints.js";

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
      reason: state === "failed" ? "404" : "",
      attempts: [],
    })),
  };
}

it.each([
  ["any", "delivered", ["delivered", "pending"], "reached"],
  ["all", "delivered", ["delivered", "pending"], "open"],
  ["all", "delivered", ["pending", "filtered"], "open"],
  ["all", "delivered", ["delivered", "failed"], "impossible"],
  ["all", "delivered", ["pending", "failed"], "impossible"],
  ["all", "delivered", ["delivered", "delivered"], "reached"],
  ["all", "delivered", ["delivered", "filtered", "skipped", "suppressed"], "reached"],
  ["all", "delivered", ["filtered", "skipped"], "impossible"],
  ["any", "delivered", ["filtered", "pending"], "open"],
  ["any", "delivered", ["failed", "pending"], "open"],
  ["any", "delivered", ["failed", "filtered"], "impossible"],
  ["any", "filtered", ["filtered", "pending"], "reached"],
  ["all", "filtered", ["filtered", "delivered"], "impossible"],
  ["any", "pending", ["delivered"], "impossible"],
  ["all", "delivered", [], "impossible"],
  ["any", "delivered", [], "impossible"],
] as const)("%s destination %s, where they are %j: %s", (destinations, state, states, kind) => {
  const which = { destinationId: undefined, destinations };
  expect(judgeWait(message(states), state, which).kind).toBe(kind);
});

it("only the named destination counts", () => {
  const found = message(["delivered", "failed"]);
  const judged = (destinationId: string) =>
    judgeWait(found, "delivered", { destinationId, destinations: "all" });
  expect(judged("d0")).toEqual({ kind: "reached" });
  expect(judged("d1")).toEqual({ kind: "impossible", why: "failed at d1 (404)" });
  expect(judged("d2")).toEqual({ kind: "impossible", why: "d2 does not get it" });
});

it("accepted asks for no outcome", () => {
  const which = { destinationId: undefined, destinations: "all" } as const;
  expect(judgeWait(message([]), "accepted", which)).toEqual({ kind: "reached" });
  expect(judgeWait(message([]), "rejected", which).kind).toBe("impossible");
});

it("a refused message comes nowhere, and says why", () => {
  const refused: MessageView = {
    messageId: "m",
    sourceId: "s",
    receivedAt: "2026-01-01T00:00:00.000Z",
    state: "rejected",
    issues: [{ code: "event_not_defined", path: "event", message: "a track call needs an event" }],
    excerpt: "{}",
  };
  const which = { destinationId: undefined, destinations: "any" } as const;
  expect(judgeWait(refused, "rejected", which)).toEqual({ kind: "reached" });
  expect(judgeWait(refused, "delivered", which)).toEqual({
    kind: "impossible",
    why: "it was refused: a track call needs an event",
  });
});
