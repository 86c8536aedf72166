import type { DestinationStatus } from "../delivery/delivery-stage.js";
import type { Incident } from "./incident.js";
import type { Observed } from "./observe.js";

/** After a start it may take this long until a destination has been opened and tried. */
const HEALTH_KNOWN_AFTER_MS = 2 * 60_000;
/** After a start it may take this long until the store has looked whether retention is held back. */
const RETENTION_KNOWN_AFTER_MS = 10 * 60_000;

/** What ended an incident that is no longer observed. Undefined: nobody can tell yet. */
export function incidentEnding(
  incident: Pick<Incident, "kind" | "destinationId">,
  observed: Pick<Observed, "destinations" | "disk">,
  upForMs: number,
): string | undefined {
  const { kind, destinationId } = incident;
  const destination = observed.destinations.find((one) => one.id === destinationId);
  if (destinationId !== undefined) {
    if (destination === undefined) return "The destination was deleted.";
    if (!destination.value.enabled) return "The destination was disabled.";
  }
  switch (kind) {
    case "destination_failing":
      return upForMs < HEALTH_KNOWN_AFTER_MS ? undefined : failureEnding(destination?.status?.health);
    case "url_disabled":
      return destination?.status && "The URL was enabled or replaced.";
    case "retention_held_back":
      return upForMs < RETENTION_KNOWN_AFTER_MS ? undefined : "The retention limits hold again.";
    case "disk_low":
      return observed.disk && "There is enough free space again.";
    case "rejections_rising":
      return "No more messages than usual are rejected.";
    default:
      return kind satisfies never;
  }
}

/** A destination that is still being opened counts as disabled. */
function failureEnding(health: DestinationStatus["health"] | undefined): string | undefined {
  switch (health) {
    case undefined:
    case "disabled":
      return undefined;
    case "url_disabled":
      return "All its URLs are disabled.";
    case "idle":
      return "Its failed messages are no longer stored.";
    case "failing":
    case "partly_failing":
    case "backing_off":
      return "It has been failing for less time than you set.";
    default:
      return "Deliveries succeed again.";
  }
}
