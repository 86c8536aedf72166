import type { Clock } from "@sluice/resilience";
import type { Metrics } from "../process/telemetry/metrics.js";
import type { DestinationStatus } from "./delivery-stage.js";
import type { DestinationReading } from "./readings.js";

/** Registers the gauges of all destinations. The gauges of one scrape share one reading. */
export function registerGauges(
  metrics: Metrics,
  readings: () => Promise<ReadonlyMap<string, DestinationReading>>,
  clock: Pick<Clock, "now">,
): void {
  const each = (read: (reading: DestinationReading) => number) => async () =>
    [...(await readings())].map(([id, reading]) => [[id], read(reading)] as const);
  metrics.gauges(
    "sluice_destination_backlog_messages",
    "Messages of the log that a destination has not reached yet, and those in their first round",
    ["destination"],
    each(({ backlog }) => backlog),
  );
  metrics.gauges(
    "sluice_destination_retries_waiting",
    "Messages that failed at a destination and wait for their next attempt",
    ["destination"],
    each(({ retries }) => retries),
  );
  metrics.gauges(
    "sluice_destination_backing_off",
    "1 while a destination is down and being probed, else 0",
    ["destination"],
    each(({ isBackingOff }) => (isBackingOff ? 1 : 0)),
  );
  const ofStatus = (read: (status: DestinationStatus) => number | undefined) => async () =>
    [...(await readings())].flatMap(([id, { status }]) => {
      const value = status && read(status);
      return value === undefined ? [] : [[[id], value] as const];
    });
  metrics.gauges(
    "sluice_destination_health",
    "1 for each destination's current health; the values of `health` are those of the control API",
    ["destination", "health"],
    async () =>
      [...(await readings())].flatMap(([id, { status }]) =>
        status === undefined ? [] : [[[id, status.health], 1] as const],
      ),
  );
  metrics.gauges(
    "sluice_destination_oldest_unread_seconds",
    "Age of the oldest message that a destination has not read yet; 0 if it has read all",
    ["destination"],
    ofStatus(({ oldestUnreadMs }) => secondsSince(oldestUnreadMs, clock)),
  );
  metrics.gauges(
    "sluice_destination_failing_seconds",
    "How long every attempt at a destination has failed; 0 if the last one succeeded",
    ["destination"],
    ofStatus(({ failingSinceMs }) => secondsSince(failingSinceMs, clock)),
  );
  metrics.gauges(
    "sluice_destination_retry_window_seconds",
    "How long a failed message is retried at a destination before it is given up",
    ["destination"],
    ofStatus(({ retryWindowMs }) => retryWindowMs && retryWindowMs / 1_000),
  );
}

function secondsSince(sinceMs: number | undefined, clock: Pick<Clock, "now">): number {
  return sinceMs === undefined ? 0 : Math.max(0, clock.now() - sinceMs) / 1_000;
}
