import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "../endpoint.js";
import { INCIDENT_KINDS } from "../incident-kinds.js";
import { ListQuery, listOf } from "../list.js";
import { closed, described, oneOf, type Shape } from "../shape.js";

export const IncidentKind = oneOf(INCIDENT_KINDS, {
  description:
    "`destination_failing`: longer than its `notifyAfterMs`. `url_disabled`: a URL answered 410 Gone. `retention_held_back`: messages beyond the retention limits are kept because a destination has not read them. `disk_low`: the data folder's disk is nearly full. `rejections_rising`: many more messages than usual are rejected",
});
export type IncidentKind = Shape<typeof IncidentKind>;

export const ChannelName = oneOf(["webhook", "email"]);
export type ChannelName = Shape<typeof ChannelName>;

export const IncidentView = Type.Object({
  id: Type.String({ description: "The same each time the same thing fails" }),
  kind: IncidentKind,
  state: oneOf(["open", "resolved"]),
  title: Type.String(),
  detail: Type.String({ description: "What happened, and what to do" }),
  destinationId: Type.Optional(Type.String()),
  since: Type.String({ description: "When it began" }),
  openedAt: Type.String({ description: "When the collector noticed" }),
  resolvedAt: Type.Optional(Type.String()),
  notifiedAt: Type.Optional(
    Type.String({ description: "When the last notification that it is open was made" }),
  ),
});
export type IncidentView = Shape<typeof IncidentView>;

export const ChannelDeliveryView = Type.Object({
  channel: ChannelName,
  state: oneOf(["pending", "sent", "failed"]),
  attempts: Type.Integer(),
  at: Type.Optional(Type.String({ description: "When it was sent or given up" })),
  nextAttemptAt: Type.Optional(Type.String()),
  lastError: Type.Optional(Type.String()),
});
export type ChannelDeliveryView = Shape<typeof ChannelDeliveryView>;

export const NotificationView = Type.Object({
  id: Type.String({ description: "Also the `webhook-id` of its webhook" }),
  at: Type.String(),
  event: oneOf(["opened", "resolved"]),
  kind: IncidentKind,
  title: Type.String(),
  text: Type.String(),
  incidentId: Type.String(),
  channels: Type.Array(ChannelDeliveryView),
});
export type NotificationView = Shape<typeof NotificationView>;

const Security = oneOf(["tls", "starttls", "none"], {
  description:
    "`tls`: encrypted from the start (port 465). `starttls`: encrypted before the password is sent (port 587). `none`: not encrypted, for a relay on the same machine",
});

export const NotificationSettingsView = Type.Object({
  version: Type.Integer({ description: "0 before the first change" }),
  kinds: Type.Array(IncidentKind, { description: "What notifications are sent about" }),
  minIntervalMs: Type.Integer({
    description: "The least time between two notifications that the same incident is open",
  }),
  webhook: Type.Optional(Type.Object({ url: Type.String(), sharedSecretSet: Type.Boolean() })),
  email: Type.Optional(
    Type.Object({
      host: Type.String(),
      port: Type.Integer(),
      security: Security,
      user: Type.Optional(Type.String()),
      passwordSet: Type.Boolean(),
      from: Type.String(),
      to: Type.Array(Type.String()),
    }),
  ),
});
export type NotificationSettingsView = Shape<typeof NotificationSettingsView>;

const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });

export const NotificationSettingsPatch = closed({
  kinds: Type.Optional(Type.Array(IncidentKind, { maxItems: INCIDENT_KINDS.length })),
  minIntervalMs: Type.Optional(
    Type.Integer({ minimum: 60_000, maximum: 86_400_000, description: "Default: 3600000 (1 h)" }),
  ),
  webhook: Type.Optional(
    Type.Union(
      [
        closed({
          url: Type.Optional(Text(2_048)),
          sharedSecret: Type.Optional(
            described(
              Text(1_000),
              "Signs each notification, as it does webhooks of destinations. Write-only",
            ),
          ),
        }),
        Type.Null(),
      ],
      { description: "Merged with the stored settings by key; null removes the channel" },
    ),
  ),
  email: Type.Optional(
    Type.Union(
      [
        closed({
          host: Type.Optional(Text(253)),
          port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
          security: Type.Optional(Security),
          user: Type.Optional(Type.Union([Text(320), Type.Null()])),
          password: Type.Optional(
            Type.Union([Text(1_000), Type.Null()], { description: "Write-only; null removes it" }),
          ),
          from: Type.Optional(Text(320)),
          to: Type.Optional(Type.Array(Text(320), { minItems: 1, maxItems: 20 })),
        }),
        Type.Null(),
      ],
      { description: "Merged with the stored settings by key; null removes the channel" },
    ),
  ),
  version: Type.Optional(Type.Integer()),
});
export type NotificationSettingsPatch = Shape<typeof NotificationSettingsPatch>;

export const ChannelTestView = Type.Object({
  channel: ChannelName,
  state: oneOf(["sent", "failed"]),
  detail: Type.String({ description: "The answer of the receiver or mail server, or what went wrong" }),
  latencyMs: Type.Number(),
});
export type ChannelTestView = Shape<typeof ChannelTestView>;

export const NotificationTestView = Type.Object({ items: Type.Array(ChannelTestView) });
export type NotificationTestView = Shape<typeof NotificationTestView>;

export const notificationEndpoints = {
  "GET /notifications": {
    name: "notifications.list",
    summary: "List notifications with what became of them, newest first; the newest 200 are kept",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of notifications", schema: listOf(NotificationView) },
    commands: [
      {
        name: "notifications list",
        columns: "at title CHANNELS:channels.channel STATE:channels.state ERROR:channels.lastError",
      },
    ],
  },
  "GET /notifications/incidents": {
    name: "notifications.incidents",
    summary: "List incidents, open ones first; resolved ones are kept for 7 days",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of incidents", schema: listOf(IncidentView) },
    commands: [{ name: "notifications incidents", columns: "state since title detail" }],
  },
  "GET /notifications/settings": {
    name: "notifications.settings",
    summary: "Get where notifications are sent; secrets are never shown, only that they are set",
    access: "read",
    answer: { status: 200, description: "The settings", schema: NotificationSettingsView },
    commands: [{ name: "notifications settings" }],
  },
  "PATCH /notifications/settings": {
    name: "notifications.configure",
    summary: "Change where notifications are sent, and what about",
    access: "write",
    body: NotificationSettingsPatch,
    answer: { status: 200, description: "The changed settings", schema: NotificationSettingsView },
    errors: ["conflict", "precondition_failed"],
    commands: [
      {
        name: "notifications webhook",
        summary: "Post notifications to a webhook, signed",
        fields: ["webhook"],
        arguments: ["url"],
        names: { sharedSecret: "secret" },
        example: "https://alerts.example.com/sluice --secret …",
      },
      {
        name: "notifications email",
        summary: "Send notifications by email over SMTP",
        fields: ["email"],
        example:
          "--host smtp.example.com --user u --password … --from sluice@example.com --to ops@example.com",
      },
      {
        name: "notifications kinds",
        summary: "Choose what notifications are sent about, and how often",
        fields: ["minIntervalMs"],
        arguments: ["kinds"],
        example: "destination_failing url_disabled disk_low",
      },
    ],
  },
  "POST /notifications/test": {
    name: "notifications.test",
    summary: "Send a test notification over each channel, once, and wait for the outcome",
    access: "write",
    body: closed({
      channel: Type.Optional(described(ChannelName, "Default: all that are set up")),
    }),
    answer: { status: 200, description: "What happened", schema: NotificationTestView },
    commands: [{ name: "notifications test", columns: "channel state detail" }],
  },
} as const satisfies EndpointTable;
