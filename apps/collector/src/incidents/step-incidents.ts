import type { Condition, Incident } from "./incident.js";

/** The least time between two messages that the same incident is open, in milliseconds. Something that fails again and again must not flood. */
export const NOTIFY_EVERY_MS = 3_600_000;

/** What ended an incident that is no longer observed. Undefined: nobody can tell yet, so it stays open. */
export type Ending = (incident: Incident, key: string) => string | undefined;

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
