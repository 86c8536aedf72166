import type { AdminClient } from "@sluice/admin-client";
import type { DestinationHealthView, DestinationStatusView, DestinationView } from "@sluice/control-api";

/** The health of a destination, with the same state names as in the dashboard and in alerts. */
export interface DestinationHealth extends Omit<DestinationStatusView, "state" | "health"> {
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
  { state: _queue, health, disabledUrls = [], nextAttemptAt, ...status }: DestinationStatusView,
  retriesAt: readonly string[],
): DestinationHealth {
  const next = health === "disabled" ? undefined : (nextAttemptAt ?? [...retriesAt].sort()[0]);
  return {
    ...status,
    state: health === "good" || health === "idle" ? "delivering" : health,
    disabledUrls,
    ...(next === undefined ? {} : { nextAttemptAt: next }),
  };
}

/** The state as text: `url disabled`. */
export function healthWord(state: DestinationHealth["state"]): string {
  return state.replace("_", " ");
}
