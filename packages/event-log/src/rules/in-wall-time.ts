import { type Clock, wallTimeAt } from "@sluice/resilience";
import type { Delivery, DeliveryQuery } from "../ports/consumers.js";

/** A delivery as people see it. What is stored of a pending one are monotonic readings; of one that has ended, wall time. */
export function inWallTime(delivery: Delivery, clock: Clock): Delivery {
  if (delivery.state !== "pending") return delivery;
  const { atMs, nextAttemptAtMs } = delivery;
  return {
    ...delivery,
    atMs: wallTimeAt(atMs, clock),
    ...(nextAttemptAtMs === undefined ? {} : { nextAttemptAtMs: wallTimeAt(nextAttemptAtMs, clock) }),
  };
}

/** The bounds of a query as monotonic readings: with those the stored times of pending deliveries are compared. */
export function monotonicBounds(
  { fromMs, toMs }: Pick<DeliveryQuery, "fromMs" | "toMs">,
  clock: Clock,
): Pick<DeliveryQuery, "fromMs" | "toMs"> {
  const setByMs = wallTimeAt(0, clock);
  return {
    ...(fromMs === undefined ? {} : { fromMs: fromMs - setByMs }),
    ...(toMs === undefined ? {} : { toMs: toMs - setByMs }),
  };
}
