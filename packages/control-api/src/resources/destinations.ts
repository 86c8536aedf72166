import { Type } from "@sinclair/typebox";
import { COMPARISONS, RETRY_WINDOW } from "@sluice/protocol";
import type { EndpointTable } from "../endpoint.js";
import { closed, described, ListQuery, listOf, oneOf, type Shape } from "../endpoint.js";
import { DestinationStatusView } from "../health.js";
import { AttemptView, DeliveryStateView, RequestBodyView } from "./messages.js";
import { SourceKindView } from "./sources.js";

const Name = Type.String({ minLength: 1, maxLength: 200 });
const SourceIds = Type.Array(Type.String(), {
  maxItems: 1_000,
  description: "`sluice` is the built-in source of incidents",
});
const Settings = Type.Record(Type.String(), Type.Unknown(), {
  description: "See `settingsSchema` of the type in the catalog",
});

export const CatalogEntryView = Type.Object({
  type: Type.String({ description: "The `type` of `POST /destinations`" }),
  name: Type.String({ description: "The published name, which `integrations` uses; case-sensitive" }),
  mode: Type.Literal("cloud"),
  sources: Type.Array(SourceKindView),
  historical: Type.Boolean({ description: "Whether it accepts old messages" }),
  description: Type.Optional(Type.String({ description: "One sentence about what it does" })),
  icon: Type.Optional(
    Type.String({
      description: "The `d` of an SVG path on a grid of 16 × 16: commands and numbers only",
      pattern: "^[Mm][MmLlHhVvCcSsQqTtAaZz0-9eE .,+-]{1,999}$",
    }),
  ),
  settingsSchema: Type.Object({}, { description: "JSON Schema of `settings`" }),
});
export type CatalogEntryView = Shape<typeof CatalogEntryView>;

export const CatalogView = Type.Object({
  items: Type.Array(CatalogEntryView),
  unusable: Type.Array(
    Type.Object({
      package: Type.String({ description: "As the setting `destinations` names it" }),
      message: Type.String({ description: "What is wrong with it, and what to do" }),
    }),
    { description: "Packages of destination types that could not be used" },
  ),
});
export type CatalogView = Shape<typeof CatalogView>;

export const FilterRuleView = Type.Object(
  {
    kinds: Type.Optional(Type.Array(Type.String())),
    events: Type.Optional(Type.Array(Type.String())),
    where: Type.Optional(
      Type.Array(
        Type.Object({
          path: Type.String({ description: "Dotted path into the message, such as `properties.plan`" }),
          is: oneOf(COMPARISONS),
          value: Type.Optional(Type.Unknown()),
        }),
      ),
    ),
    action: Type.Union([
      Type.Object({ kind: Type.Literal("drop") }),
      Type.Object({
        kind: Type.Literal("sample"),
        share: Type.Number({
          minimum: 0,
          maximum: 1,
          description:
            "Keeps this share of the messages. The message id decides, so a replay gets the same answer",
        }),
      }),
      Type.Object({
        kind: Type.Literal("remove"),
        paths: Type.Array(Type.String(), {
          description: "Dotted paths that are left out of what is sent; later rules still run",
        }),
      }),
    ]),
  },
  { description: "A rule matches if all its conditions hold. The first rule that matches acts" },
);
export type FilterRuleView = Shape<typeof FilterRuleView>;
const Filters = Type.Array(FilterRuleView);

/** The bounds of `notifyAfterMs`, in milliseconds: 1 minute to 7 days. Default: 15 minutes. */
export const NOTIFY_AFTER = { minMs: 60_000, defaultMs: 15 * 60_000, maxMs: 7 * 86_400_000 } as const;
const NotifyAfterMs = Type.Integer({
  minimum: NOTIFY_AFTER.minMs,
  maximum: NOTIFY_AFTER.maxMs,
  description:
    "How long it may fail before that is an incident, 1 minute to 7 days. Default: 900000 (15 min)",
});

const TransformationId = Type.String({
  description: "The transformation that its messages pass after the filters",
});

const RetryForMs = Type.Integer({ minimum: RETRY_WINDOW.minMs, maximum: RETRY_WINDOW.maxMs });

export const RetryScheduleView = Type.Object(
  {
    attempts: Type.Integer({ description: "Attempts at a message that always fails, on average" }),
    attemptsAtMs: Type.Array(Type.Integer(), {
      description:
        "When the first attempts are made, on average, in milliseconds since the first one: at most 12. Waits are random",
    }),
    longestGapMs: Type.Integer({ description: "The longest time between two attempts" }),
    lastAttemptAfterMs: Type.Integer({
      description: "The last attempt is made after this time, and before `retryForMs`",
    }),
  },
  { description: "The attempts that follow from `retryForMs`" },
);
export type RetryScheduleView = Shape<typeof RetryScheduleView>;

export const DestinationView = Type.Object({
  id: Type.String(),
  type: Type.String(),
  name: Type.String(),
  enabled: Type.Boolean(),
  createdAt: Type.String(),
  sourceIds: SourceIds,
  filters: Filters,
  settings: described(Settings, "Without secrets: only whether one is set"),
  retryForMs: Type.Integer({
    description: "How long a failed message is retried, in milliseconds since its first attempt",
  }),
  retrySchedule: RetryScheduleView,
  notifyAfterMs: Type.Integer({ description: "How long it may fail before that is an incident" }),
  transformationId: Type.Optional(TransformationId),
  version: Type.Integer(),
});
export type DestinationView = Shape<typeof DestinationView>;

export const DestinationInput = closed({
  type: Type.String({ description: "A type of the catalog, such as `webhooks`" }),
  name: Type.Optional(
    described(Name, "Default: the catalog's name, with a number if another destination has it"),
  ),
  sourceIds: Type.Optional(
    described(SourceIds, "Default: none. `sluice` is the built-in source of incidents"),
  ),
  settings: Type.Optional(Settings),
  enabled: Type.Optional(Type.Boolean({ description: "Default: true" })),
  filters: Type.Optional(Filters),
  retryForMs: Type.Optional(
    described(
      RetryForMs,
      "How long a failed message is retried, 1 minute to 7 days. Default: 14400000 (4 h)",
    ),
  ),
  notifyAfterMs: Type.Optional(NotifyAfterMs),
  transformationId: Type.Optional(TransformationId),
});
export type DestinationInput = Shape<typeof DestinationInput>;

export const DestinationPatch = closed({
  name: Type.Optional(Name),
  sourceIds: Type.Optional(SourceIds),
  settings: Type.Optional(described(Settings, "Merged with the stored settings by key; null removes a key")),
  enabled: Type.Optional(Type.Boolean()),
  backlog: Type.Optional(
    oneOf(["send", "skip"], {
      description:
        "With `enabled: true` for a disabled destination: what happens to the messages that wait (`waiting` in its status). `skip`: they end as skipped, except replays; those that wait for a retry when it is due. Default: `send`",
    }),
  ),
  filters: Type.Optional(Filters),
  retryForMs: Type.Optional(
    described(
      RetryForMs,
      "Also applies to messages that are being retried: their time still counts from the first attempt",
    ),
  ),
  notifyAfterMs: Type.Optional(NotifyAfterMs),
  transformationId: Type.Optional(Type.Union([TransformationId, Type.Null()], { description: "null: none" })),
  version: Type.Optional(Type.Integer()),
});
export type DestinationPatch = Shape<typeof DestinationPatch>;

export const TestSendView = Type.Object({
  messageId: Type.String(),
  at: Type.String({ description: "When it was sent" }),
  state: described(DeliveryStateView, "`pending`: it failed, and a real message would be retried"),
  reason: Type.String(),
  requestBody: described(RequestBodyView, "What was sent: the body of a request, or the message in JSON"),
  attempts: Type.Array(AttemptView),
});
export type TestSendView = Shape<typeof TestSendView>;

const TRY_IT = "Try it: npx sluice destinations test {name}";

export const destinationEndpoints = {
  "GET /catalog": {
    name: "catalog.list",
    summary: "List the destination types",
    access: "read",
    answer: { status: 200, description: "All types", schema: CatalogView },
    commands: [{ name: "destinations types", columns: "type name sources historical" }],
  },
  "POST /destinations": {
    name: "destinations.create",
    summary: "Create a destination; it receives its sources' messages from now on",
    access: "write",
    body: DestinationInput,
    answer: { status: 201, description: "The destination", schema: DestinationView },
    commands: [
      {
        name: "destinations create",
        defaults: { type: "webhooks" },
        notes: [TRY_IT],
        example: "--name Warehouse --webhook https://example.com/hook",
      },
    ],
  },
  "GET /destinations": {
    name: "destinations.list",
    summary: "List destinations, oldest first",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of destinations", schema: listOf(DestinationView) },
    commands: [
      {
        name: "destinations list",
        columns: "name health type URL:settings.webhooks.url sources transformation id",
      },
    ],
  },
  "GET /destinations/:id": {
    name: "destinations.get",
    summary: "Get a destination; its secrets are never shown, only that they are set",
    access: "read",
    answer: { status: 200, description: "The destination", schema: DestinationView },
    errors: ["not_found"],
    commands: [{ name: "destinations get", notes: [TRY_IT], example: '"My webhook"' }],
  },
  "PATCH /destinations/:id": {
    name: "destinations.patch",
    summary:
      "Enable, disable or rename a destination, connect it to sources, change its settings, filters or transformation",
    access: "write",
    body: DestinationPatch,
    answer: { status: 200, description: "The changed destination", schema: DestinationView },
    errors: ["not_found", "conflict", "precondition_failed"],
    commands: [
      {
        name: "destinations update",
        fields: [
          "name",
          "sourceIds",
          "settings",
          "filters",
          "retryForMs",
          "notifyAfterMs",
          "transformationId",
        ],
        example: "Warehouse --webhook https://example.com/hook2",
      },
      {
        name: "destinations disable",
        summary: "Disable a destination; it gets no new messages and keeps its queue",
        send: { enabled: false },
        example: "Warehouse",
      },
    ],
  },
  "DELETE /destinations/:id": {
    name: "destinations.delete",
    summary: "Delete a destination with its deliveries",
    access: "write",
    answer: { status: 204, description: "The destination is deleted" },
    errors: ["not_found"],
    commands: [
      {
        name: "destinations delete",
        confirm: "Delete the destination {name} ({id}) with its deliveries",
        example: "Warehouse --yes",
      },
    ],
  },
  "POST /destinations/:id/test": {
    name: "destinations.test",
    summary: "Send one test message through the real delivery path, once, and wait for the outcome",
    access: "write",
    answer: { status: 200, description: "The outcome", schema: TestSendView },
    errors: ["not_found"],
    commands: [
      {
        name: "destinations test",
        text: "{state}: {reason}\nsent: {requestBody.text}",
        rows: "attempts",
        columns: "url status latencyMs response ERROR:error.message",
        example: "Warehouse",
      },
    ],
  },
  "GET /destinations/:id/test": {
    name: "destinations.lastTest",
    summary: "Get the outcome of the last test message",
    access: "read",
    answer: {
      status: 200,
      description: "The outcome; `last` is absent if no test was sent",
      schema: Type.Object({ last: Type.Optional(TestSendView) }),
    },
    errors: ["not_found"],
  },
  "GET /destinations/:id/status": {
    name: "destinations.status",
    summary: "Get a destination's health, its backlog and the last error",
    access: "read",
    answer: { status: 200, description: "The status", schema: DestinationStatusView },
    errors: ["not_found"],
    commands: [{ name: "destinations status", example: "Warehouse" }],
  },
} as const satisfies EndpointTable;
