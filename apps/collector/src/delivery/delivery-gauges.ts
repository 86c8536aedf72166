import type { EventLog } from "@sluice/event-log";
import type { Metrics } from "../process/telemetry/metrics.js";
import type { ConsumerStatus } from "./consumer.js";
import type { DestinationDelivery } from "./destination-delivery.js";

/** Registers the gauges of all destinations. */
export function registerGauges(
  metrics: Metrics,
  log: Pick<EventLog, "head">,
  deliveries: ReadonlyMap<string, DestinationDelivery>,
): void {
  const each = (read: (status: ConsumerStatus) => number) =>
    [...deliveries].flatMap(([id, { consumerStatus }]) =>
      consumerStatus === undefined ? [] : [[[id], read(consumerStatus)] as const],
    );
  metrics.gauges(
    "sluice_destination_behind",
    "Offsets of the log that a destination has not reached yet, and messages in their first round",
    ["destination"],
    () => each(({ isAtEnd, passed, taken }) => (isAtEnd ? 0 : Math.max(0, log.head() - passed)) + taken),
  );
  metrics.gauges(
    "sluice_destination_retries",
    "Messages that failed at a destination and wait for their next attempt",
    ["destination"],
    () => each(({ retries }) => retries),
  );
  metrics.gauges(
    "sluice_destination_backing_off",
    "1 while a destination is down and being probed, else 0",
    ["destination"],
    () => each(({ state }) => (state === "backing_off" ? 1 : 0)),
  );
}
