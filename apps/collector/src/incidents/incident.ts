import type { IncidentKind, IncidentView } from "@sluice/control-api";
import type { NewBatch } from "@sluice/event-log";
import { formatTime, INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { oneLine } from "../destinations/one-line.js";

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
type Edge = "opened" | "resolved";

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
function timeOf(edge: Edge, { openedAtMs, notifiedAtMs, resolvedAtMs }: Incident): number {
  return (edge === "opened" ? notifiedAtMs : resolvedAtMs) ?? openedAtMs;
}

/** The events of the messages. `docs/guide/notifications.md` lists them. */
export const INCIDENT_EVENTS: Readonly<Record<IncidentKind, Readonly<Record<Edge, string>>>> = {
  destination_failing: { opened: "Destination Failing", resolved: "Destination Recovered" },
  url_disabled: { opened: "URL Disabled", resolved: "URL Enabled" },
  retention_held_back: { opened: "Retention Held Back", resolved: "Retention Restored" },
  disk_low: { opened: "Disk Low", resolved: "Disk Recovered" },
  rejections_rising: { opened: "Messages Refused", resolved: "Messages Accepted" },
};

const MAX_TITLE = 150;
const MAX_DETAIL = 2_000;

/**
 * The message about a change of an incident. Names come from users, so nothing in them may begin a new line. The incident stands for
 * the user: its messages are delivered in order, and do not wait for those of others.
 */
export function incidentMessage(id: string, edge: Edge, incident: Incident): object {
  const { kind, destinationId, sinceMs, resolvedAtMs } = incident;
  const what = oneLine(incident.title, MAX_TITLE);
  const title = edge === "opened" ? what : `Resolved: ${what}`;
  const detail = oneLine(incident.detail, MAX_DETAIL);
  const since = formatTime(sinceMs);
  const resolved = resolvedAtMs === undefined ? undefined : formatTime(resolvedAtMs);
  const times = resolved === undefined ? `Since: ${since}` : `Since: ${since}\nResolved: ${resolved}`;
  return {
    type: "track",
    messageId: messageIdOf(id, edge, incident),
    anonymousId: id,
    event: INCIDENT_EVENTS[kind][edge],
    timestamp: formatTime(timeOf(edge, incident)),
    properties: {
      title,
      detail,
      kind,
      since,
      ...(resolved === undefined ? {} : { resolved_at: resolved }),
      ...(destinationId === undefined ? {} : { destination_id: destinationId }),
      incident_id: id,
    },
    text: `${title}\n\n${detail}\n\n${times}\n`,
  };
}

/** The message as the log takes it. */
export function incidentBatch(id: string, edge: Edge, incident: Incident, receivedAtMs: number): NewBatch {
  const message = incidentMessage(id, edge, incident);
  return {
    sourceId: INCIDENT_SOURCE_ID,
    receivedAtMs,
    body: Buffer.from(JSON.stringify({ batch: [message] })),
    itemCount: 1,
    skipped: [],
    madeIds: [],
    keys: [
      {
        index: 0,
        messageId: messageIdOf(id, edge, incident),
        userId: id,
        type: "track",
        event: INCIDENT_EVENTS[incident.kind][edge],
      },
    ],
  };
}
