import type { IncidentKind } from "@sluice/control-api";
import type { Condition, Incident, Notice } from "./incident.js";

export interface StepRules {
  /** The least time between two notifications that the same incident is open, in milliseconds. */
  readonly minIntervalMs: number;
  /** Whether notifications of this kind are sent, and somewhere. */
  readonly notifies: (kind: IncidentKind) => boolean;
  /** What ended an incident that is no longer observed. Undefined: nobody can tell yet, so it stays open. */
  readonly ending: (incident: Incident, key: string) => string | undefined;
}

export interface Step {
  /** Incidents that changed, by id. */
  readonly changed: ReadonlyMap<string, Incident>;
  readonly notices: readonly Notice[];
}

/**
 * The incidents after a check:
 *
 * - A condition without an open incident opens one. A notification follows once, at once, or when `minIntervalMs` has passed since the
 *   last one of the same incident. If it is resolved before that, there is none.
 * - An open incident without a condition is resolved. A notification follows if one said that it was open.
 */
export function stepIncidents(
  incidents: ReadonlyMap<string, Incident>,
  conditions: readonly Condition[],
  nowMs: number,
  rules: StepRules,
): Step {
  const observed = new Set(conditions.map(({ key }) => key));
  const steps = [
    ...conditions.map((condition) => openOne(incidents.get(condition.key), condition, nowMs, rules)),
    ...[...incidents]
      .filter(([key, { state }]) => state === "open" && !observed.has(key))
      .map(([key, incident]) => resolveOne(key, incident, nowMs, rules)),
  ];
  const changed = steps.filter(
    ({ incidentId, incident }) => incident !== undefined && incident !== incidents.get(incidentId),
  );
  return {
    changed: new Map(changed.map(({ incidentId, incident }) => [incidentId, incident as Incident])),
    notices: steps.flatMap(({ incidentId, incident, notice }) =>
      incident === undefined || notice === undefined ? [] : [{ event: notice, incidentId, incident }],
    ),
  };
}

interface OneStep {
  readonly incidentId: string;
  /** Undefined: as before. */
  readonly incident?: Incident;
  readonly notice?: Notice["event"];
}

function openOne(
  known: Incident | undefined,
  { key, ...condition }: Condition,
  nowMs: number,
  { minIntervalMs, notifies }: StepRules,
): OneStep {
  const open = openIncident(known, condition, nowMs);
  if (open.isNotified || !notifies(open.kind) || !isTime(open, nowMs, minIntervalMs))
    return { incidentId: key, incident: open };
  const incident = { ...open, detail: condition.detail, isNotified: true, notifiedAtMs: nowMs };
  return { incidentId: key, incident, notice: "opened" };
}

function resolveOne(
  key: string,
  incident: Incident,
  nowMs: number,
  { ending, notifies }: StepRules,
): OneStep {
  const detail = ending(incident, key);
  if (detail === undefined) return { incidentId: key };
  const resolved: Incident = {
    ...incident,
    state: "resolved",
    resolvedAtMs: nowMs,
    isNotified: false,
    detail,
  };
  const isNews = incident.isNotified && notifies(incident.kind);
  return { incidentId: key, incident: resolved, ...(isNews ? { notice: "resolved" } : {}) };
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
function isTime({ notifiedAtMs }: Incident, nowMs: number, minIntervalMs: number): boolean {
  return notifiedAtMs === undefined || nowMs < notifiedAtMs || nowMs - notifiedAtMs >= minIntervalMs;
}
