import type { AdminClient } from "@sluice/admin-client";
import {
  type DestinationHealthView,
  type DestinationStatusView,
  type DestinationView,
  HEALTH_WORDS,
} from "@sluice/control-api";

/** The status of a destination, and when something is sent next. */
export interface DestinationHealth extends Omit<DestinationStatusView, "state"> {
  /** The health, without the difference between `good` and `idle`. */
  readonly state: Exclude<DestinationHealthView, "good" | "idle"> | "delivering";
  readonly disabledUrls: readonly string[];
}

/** Pending deliveries that are read to find the next attempt. */
const PENDING_LIMIT = 100;

export async function readHealth(
  client: AdminClient,
  { id: destinationId }: Pick<DestinationView, "id">,
): Promise<DestinationHealth> {
  const status = await client.destinations.status(destinationId);
  if (status.retries === 0) return healthOf(status, []);
  const pending = await client.deliveries.list({ destinationId, state: "pending", limit: PENDING_LIMIT });
  return healthOf(
    status,
    pending.items.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []),
  );
}

/** Without a probe, the next attempt is the earliest retry. A disabled destination has no next attempt. */
export function healthOf(
  { state: _queue, disabledUrls = [], nextAttemptAt, ...status }: DestinationStatusView,
  retriesAt: readonly string[],
): DestinationHealth {
  const { health } = status;
  const next = health === "disabled" ? undefined : (nextAttemptAt ?? [...retriesAt].sort()[0]);
  return {
    ...status,
    state: health === "good" || health === "idle" ? "delivering" : health,
    disabledUrls,
    ...(next === undefined ? {} : { nextAttemptAt: next }),
  };
}

/** The health as text: `url disabled`. */
export function healthWord(health: DestinationHealthView): string {
  return HEALTH_WORDS[health].label.replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase());
}
