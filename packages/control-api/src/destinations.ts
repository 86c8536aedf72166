import { Type } from "@sinclair/typebox";
import { COMPARISONS } from "@sluice/protocol";
import type { EndpointTable } from "./endpoint.js";
import { ListQuery, listOf } from "./list.js";
import { AttemptView, DeliveryStateView } from "./messages.js";
import { closed, described, oneOf, type Shape } from "./shape.js";
import { SourceKindView } from "./sources.js";

const Name = Type.String({ minLength: 1, maxLength: 200 });
const SourceIds = Type.Array(Type.String(), { maxItems: 1_000 });
const Settings = Type.Record(Type.String(), Type.Unknown(), {
  description: "See `settingsSchema` of the type in the catalog",
});

export const CatalogEntryView = Type.Object({
  type: Type.String({ description: "The `type` of `POST /destinations`" }),
  name: Type.String({ description: "The published name, which `integrations` uses; case-sensitive" }),
  mode: Type.Literal("cloud"),
  sources: Type.Array(SourceKindView),
  historical: Type.Boolean({ description: "Whether it accepts old messages" }),
  settingsSchema: Type.Object({}, { description: "JSON Schema of `settings`" }),
});
export type CatalogEntryView = Shape<typeof CatalogEntryView>;

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

export const DestinationView = Type.Object({
  id: Type.String(),
  type: Type.String(),
  name: Type.String(),
  enabled: Type.Boolean(),
  createdAt: Type.String(),
  sourceIds: SourceIds,
  filters: Filters,
  settings: described(Settings, "Without secrets: only whether one is set"),
  version: Type.Integer(),
});
export type DestinationView = Shape<typeof DestinationView>;

export const DestinationInput = closed({
  type: Type.String({ description: "A type of the catalog, such as `webhooks`" }),
  name: Type.Optional(described(Name, "Default: the catalog's name")),
  sourceIds: Type.Optional(described(SourceIds, "Default: none")),
  settings: Type.Optional(Settings),
  enabled: Type.Optional(Type.Boolean({ description: "Default: true" })),
  filters: Type.Optional(Filters),
});
export type DestinationInput = Shape<typeof DestinationInput>;

export const DestinationPatch = closed({
  name: Type.Optional(Name),
  sourceIds: Type.Optional(SourceIds),
  settings: Type.Optional(described(Settings, "Merged with the stored settings by key; null removes a key")),
  enabled: Type.Optional(Type.Boolean()),
  filters: Type.Optional(Filters),
  version: Type.Optional(Type.Integer()),
});
export type DestinationPatch = Shape<typeof DestinationPatch>;

export const DestinationHealthView = oneOf(
  ["good", "failing", "idle", "url_disabled", "partly_disabled", "disabled", "backing_off"],
  {
    description:
      "The first of these that holds. `disabled`: you disabled it. `url_disabled`: every URL answered 410 Gone; save the webhooks to call them again. `backing_off`: it fails, so nothing is sent but probes. `failing`: the last delivery failed, or the destination cannot be opened. `partly_disabled`: some URLs answered 410 Gone, the others work. `good`: the last delivery succeeded. `idle`: no delivery yet",
  },
);
export type DestinationHealthView = Shape<typeof DestinationHealthView>;

export const DestinationStatusView = Type.Object({
  destinationId: Type.String(),
  state: oneOf(["delivering", "disabled", "backing_off"], {
    description: "What its queue does; `health` says whether messages arrive",
  }),
  health: DestinationHealthView,
  failingSince: Type.Optional(
    Type.String({ description: "When the first delivery failed after the last one that succeeded" }),
  ),
  disabledUrls: Type.Optional(Type.Array(Type.String(), { description: "URLs that answered 410 Gone" })),
  behind: Type.Integer({
    description:
      "Messages in the log that it has not read, plus those in their first attempt; 0 once every received message is routed. While it is disabled or backs off it reads nothing, so this includes messages of sources that it is not connected to",
  }),
  retries: Type.Integer({ description: "Failed messages that wait for their next attempt" }),
  waiting: Type.Integer({
    description: "`retries` plus `behind`; without `behind` if it is disabled, because it skips those",
  }),
  nextAttemptAt: Type.Optional(Type.String({ description: "When a failing destination is probed next" })),
  lastError: Type.Optional(
    Type.String({ description: "Why the last delivery failed. Absent if it succeeded" }),
  ),
});
export type DestinationStatusView = Shape<typeof DestinationStatusView>;

export const TestSendView = Type.Object({
  messageId: Type.String(),
  state: DeliveryStateView,
  reason: Type.String(),
  attempts: Type.Array(AttemptView),
});
export type TestSendView = Shape<typeof TestSendView>;

export const destinationEndpoints = {
  "GET /catalog": {
    name: "catalog.list",
    summary: "List the destination types",
    access: "read",
    answer: { status: 200, description: "All types", schema: listOf(CatalogEntryView) },
  },
  "POST /destinations": {
    name: "destinations.create",
    summary: "Create a destination; it receives its sources' messages from now on",
    access: "write",
    body: DestinationInput,
    answer: { status: 201, description: "The destination", schema: DestinationView },
  },
  "GET /destinations": {
    name: "destinations.list",
    summary: "List destinations, oldest first",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of destinations", schema: listOf(DestinationView) },
  },
  "GET /destinations/:id": {
    name: "destinations.get",
    summary: "Get a destination; its secrets are never shown, only that they are set",
    access: "read",
    answer: { status: 200, description: "The destination", schema: DestinationView },
    errors: ["not_found"],
  },
  "PATCH /destinations/:id": {
    name: "destinations.patch",
    summary: "Enable, disable or rename a destination, connect it to sources, change its settings or filters",
    access: "write",
    body: DestinationPatch,
    answer: { status: 200, description: "The changed destination", schema: DestinationView },
    errors: ["not_found", "conflict", "precondition_failed"],
  },
  "DELETE /destinations/:id": {
    name: "destinations.delete",
    summary: "Delete a destination with its deliveries",
    access: "write",
    answer: { status: 204, description: "The destination is deleted" },
    errors: ["not_found"],
  },
  "POST /destinations/:id/test": {
    name: "destinations.test",
    summary: "Send one test message through the real delivery path, once, and wait for the outcome",
    access: "write",
    answer: { status: 200, description: "The outcome", schema: TestSendView },
    errors: ["not_found"],
  },
  "GET /destinations/:id/status": {
    name: "destinations.status",
    summary: "Get a destination's health, lag and waiting messages",
    access: "read",
    answer: { status: 200, description: "The status", schema: DestinationStatusView },
    errors: ["not_found"],
  },
} as const satisfies EndpointTable;
