import type { IncidentKind, IncidentView } from "@sluice/control-api";
import { formatTime } from "@sluice/protocol";

/** Something is wrong now. Observed anew at each check. */
export interface Condition {
  /** The same each time the same thing is wrong, such as `destination_failing:dst_1`. */
  readonly key: string;
  readonly kind: IncidentKind;
  /** One line, with names as users wrote them. */
  readonly title: string;
  /** What happened, and what to do. */
  readonly detail: string;
  readonly destinationId?: string;
  readonly sinceMs: number;
}

/** What a message about an incident says of it. */
export type Edge = "opened" | "resolved";

/** Document of kind `incident`; its id is the condition's key. Times are wall-clock milliseconds. */
export interface Incident extends Omit<Condition, "key"> {
  readonly state: "open" | "resolved";
  readonly openedAtMs: number;
  readonly resolvedAtMs?: number;
  /** Whether there is a message that it is open. Then one follows when it is resolved. */
  readonly isNotified: boolean;
  /** When the last such message was made, also for an earlier opening. */
  readonly notifiedAtMs?: number;
  /** The message that may not be in the log yet. Stored with the change that it is about, so a crash does not lose it. */
  readonly unsent?: Edge;
}

export function incidentView(id: string, incident: Incident): IncidentView {
  const { kind, state, title, detail, destinationId, sinceMs, openedAtMs, resolvedAtMs, notifiedAtMs } =
    incident;
  return {
    id,
    kind,
    state,
    title,
    detail,
    ...(destinationId === undefined ? {} : { destinationId }),
    since: formatTime(sinceMs),
    openedAt: formatTime(openedAtMs),
    ...(resolvedAtMs === undefined ? {} : { resolvedAt: formatTime(resolvedAtMs) }),
    ...(notifiedAtMs === undefined ? {} : { messageId: messageIdOf(id, "opened", incident) }),
  };
}

/** The same for the same change of the same incident, so that it is in the log once. */
export function messageIdOf(id: string, edge: Edge, incident: Incident): string {
  return `${id}-${edge}-${timeOf(edge, incident)}`;
}

/** When it became what the message says. */
export function timeOf(edge: Edge, { openedAtMs, notifiedAtMs, resolvedAtMs }: Incident): number {
  return (edge === "opened" ? notifiedAtMs : resolvedAtMs) ?? openedAtMs;
}
