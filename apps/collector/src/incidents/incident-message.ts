import type { IncidentKind } from "@sluice/control-api";
import type { NewBatch } from "@sluice/event-log";
import { formatTime, INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { oneLine } from "../destinations/one-line.js";
import { type Edge, type Incident, messageIdOf, timeOf } from "./incident.js";

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
