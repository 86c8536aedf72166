import type { EventLog } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { DestinationStatus } from "./delivery-stage.js";
import type { DestinationDelivery } from "./destination-delivery.js";

/** A destination's numbers for metrics. */
export interface DestinationReading {
  /** Messages that it has not read yet, and those in their first round. Until that is known, messages of other sources count too. */
  readonly backlog: number;
  /** Failed messages that wait for their next attempt. */
  readonly retries: number;
  readonly isBackingOff: boolean;
  /** As it was read last. Undefined: it was not read yet. */
  readonly status: DestinationStatus | undefined;
}

/** Readings wait for the store this long, in milliseconds. Then they have the status that was read last. */
const STATUS_WAIT_MS = 500;

type Deliveries = ReadonlyMap<string, Pick<DestinationDelivery, "status" | "consumerStatus">>;

/** Reads all destinations. Calls at the same time share one reading. */
export function readingsOf(
  log: Pick<EventLog, "head">,
  deliveries: Deliveries,
  clock: Pick<Clock, "after">,
): () => Promise<ReadonlyMap<string, DestinationReading>> {
  const statuses = new Map<string, DestinationStatus>();
  const refresh = async (id: string, delivery: Pick<DestinationDelivery, "status">): Promise<void> => {
    const status = await delivery.status().catch(() => undefined);
    if (status !== undefined) statuses.set(id, status);
  };
  const readAll = async (): Promise<ReadonlyMap<string, DestinationReading>> => {
    for (const id of statuses.keys()) if (!deliveries.has(id)) statuses.delete(id);
    const timeout = Promise.withResolvers<void>();
    const cancel = clock.after(STATUS_WAIT_MS, timeout.resolve);
    await Promise.race([
      timeout.promise,
      Promise.all([...deliveries].map(([id, delivery]) => refresh(id, delivery))),
    ]);
    cancel();
    const readings = new Map<string, DestinationReading>();
    for (const [id, { consumerStatus }] of deliveries) {
      if (consumerStatus === undefined) continue;
      const { isAtEnd, passed, taken, retries, state } = consumerStatus;
      const status = statuses.get(id);
      readings.set(id, {
        backlog: status?.behind ?? (isAtEnd ? 0 : Math.max(0, log.head() - passed)) + taken,
        retries,
        isBackingOff: state === "backing_off",
        status,
      });
    }
    return readings;
  };
  let underWay: Promise<ReadonlyMap<string, DestinationReading>> | undefined;
  return () => {
    underWay ??= readAll().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
