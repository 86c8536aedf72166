import type { DestinationStatusView } from "@sluice/control-api";
import type { Versioned } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { DestinationDocument } from "../../documents/documents.js";
import type { AdminContext } from "../context.js";
import { withoutUndefined } from "../without-undefined.js";

/** How a destination is doing now. */
export async function destinationStatus(
  { id, value }: Versioned<DestinationDocument>,
  { store, delivery }: Pick<AdminContext, "store" | "delivery">,
): Promise<DestinationStatusView> {
  const status = await delivery.status(id);
  // A destination has no consumer for a moment after it was created.
  const { state, health, failingSinceMs, disabledTargets, behind, retries, nextProbeAtMs, lastError } =
    status ?? {
      state: value.enabled ? ("delivering" as const) : ("disabled" as const),
      health: value.enabled ? ("idle" as const) : ("disabled" as const),
      failingSinceMs: undefined,
      disabledTargets: [],
      ...(await store.consumers.backlog(id)),
      nextProbeAtMs: undefined,
      lastError: undefined,
    };
  return withoutUndefined({
    destinationId: id,
    state,
    health,
    failingSince: failingSinceMs === undefined ? undefined : formatTime(failingSinceMs),
    disabledUrls: disabledTargets.length === 0 ? undefined : disabledTargets,
    behind,
    retries,
    waiting: retries + (state === "disabled" ? 0 : behind),
    nextAttemptAt: nextProbeAtMs === undefined ? undefined : formatTime(nextProbeAtMs),
    lastError,
  });
}
