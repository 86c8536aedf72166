import type { ChannelDeliveryView, ChannelName, IncidentView, NotificationView } from "@sluice/control-api";
import type { Versioned } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Incident } from "./incidents/incident.js";
import type { ChannelState, Notification } from "./outbox/notification.js";

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
    ...(notifiedAtMs === undefined ? {} : { notifiedAt: formatTime(notifiedAtMs) }),
  };
}

export function notificationView({ id, value }: Versioned<Notification>): NotificationView {
  const { atMs, event, kind, title, text, incidentId, channels } = value;
  return {
    id,
    at: formatTime(atMs),
    event,
    kind,
    title,
    text,
    incidentId,
    channels: Object.entries(channels).map(([name, state]) => channelView(name as ChannelName, state)),
  };
}

function channelView(channel: ChannelName, state: ChannelState): ChannelDeliveryView {
  const lastError = "lastError" in state ? state.lastError : undefined;
  return {
    channel,
    state: state.state,
    attempts: state.attempts,
    ...("atMs" in state ? { at: formatTime(state.atMs) } : {}),
    ...(state.state === "pending" ? { nextAttemptAt: formatTime(state.nextAttemptAtMs) } : {}),
    ...(lastError === undefined ? {} : { lastError }),
  };
}
