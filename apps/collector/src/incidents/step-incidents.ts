import type { DestinationStatus } from "../delivery/delivery-stage.js";
import type { Condition, Incident } from "./incident.js";
import type { Observed } from "./observe.js";

/** The least time between two messages that the same incident is open, in milliseconds. Something that fails again and again must not flood. */
const NOTIFY_EVERY_MS = 3_600_000;

/** What ended an incident that is no longer observed. Undefined: nobody can tell yet, so it stays open. */
type Ending = (incident: Incident, key: string) => string | undefined;

/**
 * The incidents that a check changed, by id:
 *
 * - A condition without an open incident opens one. A message follows once, at once, or when `NOTIFY_EVERY_MS` has passed since the
 *   last one of the same incident. If it is resolved before that, there is none.
 * - An open incident without a condition is resolved. A message follows if one said that it was open.
 */
export function stepIncidents(
  incidents: ReadonlyMap<string, Incident>,
  conditions: readonly Condition[],
  nowMs: number,
  ending: Ending,
): ReadonlyMap<string, Incident> {
  const observed = new Set(conditions.map(({ key }) => key));
  const steps = [
    ...conditions.map(
      ({ key, ...condition }) => [key, openOne(incidents.get(key), condition, nowMs)] as const,
    ),
    ...[...incidents]
      .filter(([key, { state }]) => state === "open" && !observed.has(key))
      .map(([key, incident]) => [key, resolveOne(incident, nowMs, ending(incident, key))] as const),
  ];
  return new Map(steps.filter(([key, incident]) => incident !== incidents.get(key)));
}

function openOne(known: Incident | undefined, condition: Omit<Condition, "key">, nowMs: number): Incident {
  const open = openIncident(known, condition, nowMs);
  if (open.isNotified || !isTime(open, nowMs)) return open;
  return { ...open, detail: condition.detail, isNotified: true, notifiedAtMs: nowMs, unsent: "opened" };
}

function resolveOne(incident: Incident, nowMs: number, detail: string | undefined): Incident {
  if (detail === undefined) return incident;
  return {
    ...incident,
    state: "resolved",
    resolvedAtMs: nowMs,
    isNotified: false,
    detail,
    ...(incident.isNotified ? { unsent: "resolved" } : {}),
  };
}

/** The incident with its current texts: the same object if nothing changed, so that it is not stored at each check. */
function openIncident(
  known: Incident | undefined,
  condition: Omit<Condition, "key">,
  nowMs: number,
): Incident {
  if (known?.state !== "open") {
    const { notifiedAtMs } = known ?? {};
    return {
      ...condition,
      state: "open",
      openedAtMs: nowMs,
      isNotified: false,
      ...(notifiedAtMs === undefined ? {} : { notifiedAtMs }),
    };
  }
  return known.title === condition.title ? known : { ...known, ...condition };
}

/** If the wall clock was set back, the last time may be in the future. That must not silence an incident. */
function isTime({ notifiedAtMs }: Incident, nowMs: number): boolean {
  return notifiedAtMs === undefined || nowMs < notifiedAtMs || nowMs - notifiedAtMs >= NOTIFY_EVERY_MS;
}

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
