import { type Clock, wallTimeAt } from "@sluice/resilience";
import type { Delivery, DeliveryQuery, DeliveryTally, ScannedDelivery } from "../ports/consumers.js";

/** The UTC day that a time falls into, as `2026-11-21`. */
export function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** A delivery with wall times. Pending deliveries are stored with monotonic readings, settled ones with wall time. */
export function inWallTime(delivery: Delivery, clock: Clock): Delivery {
  if (delivery.state !== "pending") return delivery;
  const { atMs, nextAttemptAtMs } = delivery;
  return {
    ...delivery,
    atMs: wallTimeAt(atMs, clock),
    ...(nextAttemptAtMs === undefined ? {} : { nextAttemptAtMs: wallTimeAt(nextAttemptAtMs, clock) }),
  };
}

export function scannedInWallTime(delivery: ScannedDelivery, clock: Clock): ScannedDelivery {
  return delivery.state === "pending" ? { ...delivery, atMs: wallTimeAt(delivery.atMs, clock) } : delivery;
}

export function tallyInWallTime(tally: DeliveryTally, clock: Clock): DeliveryTally {
  if (tally.state !== "pending") return tally;
  const { firstAtMs, lastAtMs } = tally;
  return { ...tally, firstAtMs: wallTimeAt(firstAtMs, clock), lastAtMs: wallTimeAt(lastAtMs, clock) };
}

/** The bounds of a query as monotonic readings, to compare with the stored times of pending deliveries. */
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
