import type { AdminClient } from "@sluice/admin-client";
import type { DestinationHealthView, DestinationStatusView, DestinationView } from "@sluice/protocol";

/** How a destination does, in the words of every page and alert. */
export interface DestinationHealth extends Omit<DestinationStatusView, "state" | "health"> {
  readonly state: Exclude<DestinationHealthView, "good" | "idle"> | "delivering";
  readonly disabledUrls: readonly string[];
}

/** Looks at so many pending deliveries for the next that is due. */
const MOST_PENDING = 100;

export async function readHealth(
  client: AdminClient,
  { id: destinationId }: Pick<DestinationView, "id">,
): Promise<DestinationHealth> {
  const status = await client.destinations.status(destinationId);
  if (status.retries === 0) return healthOf(status, []);
  const pending = await client.deliveries.list({ destinationId, state: "pending", limit: MOST_PENDING });
  return healthOf(
    status,
    pending.items.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []),
  );
}

/** Where it is not probed, the next attempt is that of the first of its retries; a disabled one makes none. */
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

/** The state for people. */
export function healthWord(state: DestinationHealth["state"]): string {
  return state.replace("_", " ");
}
