import type { EventLog } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Metrics } from "../process/telemetry/metrics.js";
import type { ConsumerStatus } from "./consumer.js";
import type { DestinationStatus } from "./delivery-stage.js";
import type { DestinationDelivery } from "./destination-delivery.js";

/** Registers the gauges of all destinations. */
export function registerGauges(
  metrics: Metrics,
  log: Pick<EventLog, "head">,
  deliveries: ReadonlyMap<string, DestinationDelivery>,
  clock: Pick<Clock, "after" | "now">,
): void {
  const each = (read: (status: ConsumerStatus) => number) =>
    [...deliveries].flatMap(([id, { consumerStatus }]) =>
      consumerStatus === undefined ? [] : [[[id], read(consumerStatus)] as const],
    );
  metrics.gauges(
    "sluice_destination_backlog_messages",
    "Messages of the log that a destination has not reached yet, and those in their first round",
    ["destination"],
    () => each(({ isAtEnd, passed, taken }) => (isAtEnd ? 0 : Math.max(0, log.head() - passed)) + taken),
  );
  metrics.gauges(
    "sluice_destination_retries_waiting",
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
  const statuses = statusReader(deliveries, clock);
  const ofStatus = (read: (status: DestinationStatus) => number | undefined) => async () =>
    [...(await statuses())].flatMap(([id, status]) => {
      const value = read(status);
      return value === undefined ? [] : [[[id], value] as const];
    });
  metrics.gauges(
    "sluice_destination_health",
    "1 for each destination's current health; the values of `health` are those of the control API",
    ["destination", "health"],
    async () => [...(await statuses())].map(([id, { health }]) => [[id, health], 1] as const),
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

/** A scrape waits for the store this long, in milliseconds. Then it shows what was read last. */
const STATUS_WAIT_MS = 500;

type Deliveries = ReadonlyMap<string, Pick<DestinationDelivery, "status">>;

/** Reads the status of all destinations. The gauges of one scrape share one reading. */
function statusReader(
  deliveries: Deliveries,
  clock: Pick<Clock, "after">,
): () => Promise<ReadonlyMap<string, DestinationStatus>> {
  const known = new Map<string, DestinationStatus>();
  const refresh = async (id: string, delivery: Pick<DestinationDelivery, "status">): Promise<void> => {
    const status = await delivery.status().catch(() => undefined);
    if (status !== undefined) known.set(id, status);
  };
  const readAll = async (): Promise<ReadonlyMap<string, DestinationStatus>> => {
    for (const id of known.keys()) if (!deliveries.has(id)) known.delete(id);
    const timeout = Promise.withResolvers<void>();
    const cancel = clock.after(STATUS_WAIT_MS, timeout.resolve);
    await Promise.race([
      timeout.promise,
      Promise.all([...deliveries].map(([id, delivery]) => refresh(id, delivery))),
    ]);
    cancel();
    return known;
  };
  let underWay: Promise<ReadonlyMap<string, DestinationStatus>> | undefined;
  return () => {
    underWay ??= readAll().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
