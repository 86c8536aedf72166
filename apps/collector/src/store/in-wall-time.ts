import { type Clock, wallTimeAt } from "@sluice/resilience";
import type { Delivery } from "./store.js";

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
