import { Type } from "@sinclair/typebox";
import { REGIONS } from "@sluice/protocol";
import type { EndpointTable } from "../endpoint.js";
import { closed, described, ListQuery, listOf, oneOf, type Shape } from "../endpoint.js";

const Name = Type.String({ minLength: 1, maxLength: 200 });
const BlockedEvents = Type.Array(Type.String({ minLength: 1, maxLength: 1_000 }), {
  maxItems: 1_000,
  description:
    "Names of track events that go to no destination; they are stored, and their outcome is `filtered`",
});
const RateLimit = Type.Number({ exclusiveMinimum: 0, description: "Messages accepted per second" });

const TransformationId = Type.String({
  description: "The transformation that its messages pass on their way to each destination",
});

export const SourceKindView = oneOf(["web", "mobile", "server"]);
export type SourceKindView = Shape<typeof SourceKindView>;

export const SourceIdentityView = oneOf(["full", "anonymous", "none"], {
  description:
    "Which ids its messages may join. `full`: any ids, and two users by alias. `anonymous`: an anonymous id that belongs to no user yet. `none`: no ids. Default: `full` for a server source, `anonymous` for web and mobile, because their write keys are public",
});
export type SourceIdentityView = Shape<typeof SourceIdentityView>;

export const Region = oneOf(REGIONS, { description: "Absent if no region is configured" });

export const WriteKeyView = Type.Object({
  key: Type.String({ description: "A token with `read` access sees only the beginning" }),
  createdAt: Type.String(),
  isMasked: Type.Optional(
    Type.Boolean({ description: "`key` is only the beginning of the key. Default: false" }),
  ),
});
export type WriteKeyView = Shape<typeof WriteKeyView>;

export const SourceView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  kind: SourceKindView,
  createdAt: Type.String(),
  writeKeys: Type.Array(WriteKeyView, { description: "All of them are valid; the newest is the last" }),
  blockedEvents: BlockedEvents,
  rateLimit: Type.Optional(RateLimit),
  identity: SourceIdentityView,
  region: Type.Optional(Region),
  transformationId: Type.Optional(TransformationId),
  version: Type.Integer({ description: "Grows by one with each change; `If-Match` compares it" }),
});
export type SourceView = Shape<typeof SourceView>;

export const SourceInput = closed({
  name: Name,
  kind: Type.Optional(SourceKindView),
  blockedEvents: Type.Optional(BlockedEvents),
  rateLimit: Type.Optional(RateLimit),
  identity: Type.Optional(SourceIdentityView),
  transformationId: Type.Optional(TransformationId),
});
export type SourceInput = Shape<typeof SourceInput>;

export const SourcePatch = closed({
  name: Type.Optional(Name),
  blockedEvents: Type.Optional(BlockedEvents),
  rateLimit: Type.Optional(Type.Union([RateLimit, Type.Null()], { description: "null: no limit" })),
  identity: Type.Optional(
    Type.Union([SourceIdentityView, Type.Null()], { description: "null: the kind's default" }),
  ),
  transformationId: Type.Optional(Type.Union([TransformationId, Type.Null()], { description: "null: none" })),
  version: Type.Optional(Type.Integer()),
});
export type SourcePatch = Shape<typeof SourcePatch>;

export const PlanModeView = oneOf(["report", "refuse"], {
  description:
    "What happens to messages that violate the plan. `report`: they are stored and counted. `refuse`: they are refused",
});
export type PlanModeView = Shape<typeof PlanModeView>;

const PlanJson = Type.Record(Type.String(), Type.Unknown(), {
  description: "The tracking plan, at most 200 KB: see the reference page about tracking plans",
});

export const SourcePlanInput = closed({
  plan: PlanJson,
  mode: Type.Optional(described(PlanModeView, "Default: the present mode, at first `report`")),
});
export type SourcePlanInput = Shape<typeof SourcePlanInput>;

export const SourcePlanView = Type.Object({
  mode: PlanModeView,
  plan: PlanJson,
  updatedAt: Type.String(),
  version: Type.Integer(),
});
export type SourcePlanView = Shape<typeof SourcePlanView>;

export const EventPropertyView = Type.Object({
  name: Type.String(),
  types: Type.Array(Type.String(), { description: "JSON types: `string`, `integer`, `number`, …" }),
  seen: Type.Integer({ description: "Sampled messages that had it" }),
});

export const EventView = Type.Object({
  type: Type.String({ description: "`track`, `page`, `identify`, …" }),
  name: Type.Optional(
    Type.String({ description: "The event, or the name of a page or screen, cut at 200 characters" }),
  ),
  count: Type.Integer({ description: "Messages stored" }),
  firstSeenAt: Type.String(),
  lastSeenAt: Type.String(),
  isPlanned: Type.Optional(
    Type.Boolean({ description: "Whether the source's plan has it. Absent: no plan covers the kind" }),
  ),
  violations: Type.Integer({ description: "Messages that violated the plan, stored or refused" }),
  lastViolation: Type.Optional(
    Type.Object({
      at: Type.String(),
      path: Type.String(),
      message: Type.String(),
    }),
  ),
  sampled: Type.Integer({ description: "Messages whose properties or traits were looked at" }),
  properties: Type.Array(EventPropertyView, { description: "Properties or traits, by name" }),
  hasMoreProperties: Type.Optional(
    Type.Boolean({
      description: "Some are left out: the most are 100, with names of at most 100 characters",
    }),
  ),
  example: Type.Optional(
    Type.Object({
      messageId: Type.String(),
      receivedAt: Type.String(),
      data: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          description: "Its properties or traits. Absent: larger than 4 KB, or none",
        }),
      ),
    }),
  ),
});
export type EventView = Shape<typeof EventView>;

export const EventListView = Type.Object({
  items: Type.Array(EventView),
  nextCursor: Type.Optional(Type.String()),
  names: Type.Integer({ description: "Names that are kept; the most are 1,000, and those of the plan" }),
  notKept: Type.Integer({
    description: "Messages whose names are not listed, because there are 1,000 already",
  }),
  behind: Type.Integer({ description: "Stored messages that are not counted yet" }),
});
export type EventListView = Shape<typeof EventListView>;

export const EventNamesView = Type.Object({
  items: Type.Array(
    Type.Object({
      name: Type.String(),
      properties: Type.Array(Type.String(), { description: "Names of its properties; at most 100" }),
    }),
    { description: "By name. If there are more than 1,000, those that were sent most" },
  ),
});
export type EventNamesView = Shape<typeof EventNamesView>;

export const UsageView = Type.Object({
  days: Type.Array(
    Type.Object({
      day: Type.String({ description: "`2026-11-21`, UTC" }),
      accepted: Type.Integer({ description: "Messages stored, without duplicates" }),
      filtered: Type.Integer({ description: "Outcomes: one per destination that filtered a message" }),
      delivered: Type.Integer({ description: "Outcomes: one per destination that received a message" }),
    }),
  ),
});
export type UsageView = Shape<typeof UsageView>;

export const sourceEndpoints = {
  "POST /sources": {
    name: "sources.create",
    summary: "Create a source with its first write key",
    access: "write",
    body: SourceInput,
    answer: { status: 201, description: "The source", schema: SourceView },
    commands: [
      {
        name: "sources create",
        arguments: ["name"],
        names: { blockedEvents: "block" },
        example: "Shop --kind web",
      },
    ],
  },
  "GET /sources": {
    name: "sources.list",
    summary: "List sources, oldest first",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of sources", schema: listOf(SourceView) },
    commands: [
      {
        name: "sources list",
        columns: "id name kind JOINS_IDS:identity WRITE_KEYS:writeKeys.key blockedEvents",
      },
    ],
  },
  "GET /sources/:id": {
    name: "sources.get",
    summary: "Get a source",
    access: "read",
    answer: { status: 200, description: "The source", schema: SourceView },
    errors: ["not_found"],
    commands: [{ name: "sources get", example: "Shop" }],
  },
  "PATCH /sources/:id": {
    name: "sources.patch",
    summary:
      "Rename a source, block track events by name, limit its rate, choose which ids it may join, or attach a transformation",
    access: "write",
    body: SourcePatch,
    answer: { status: 200, description: "The changed source", schema: SourceView },
    errors: ["not_found", "conflict", "precondition_failed"],
    commands: [
      { name: "sources update", names: { blockedEvents: "block" }, example: 'Shop --block "Page Pinged"' },
    ],
  },
  "DELETE /sources/:id": {
    name: "sources.delete",
    summary: "Delete a source: its write keys are refused from now on; its messages stay",
    access: "write",
    answer: { status: 204, description: "The source is deleted" },
    errors: ["not_found"],
    commands: [{ name: "sources delete", confirm: "Delete the source {name} ({id})", example: "Shop --yes" }],
  },
  "GET /sources/:id/usage": {
    name: "sources.usage",
    summary: "Count the messages accepted, filtered and delivered per day (UTC), newest first",
    access: "read",
    answer: { status: 200, description: "At most 90 days", schema: UsageView },
    errors: ["not_found"],
    commands: [
      {
        name: "sources usage",
        rows: "days",
        columns: "DAY_(UTC):day accepted filtered delivered",
        example: "Shop --json",
      },
    ],
  },
  "GET /sources/:id/plan": {
    name: "sources.getPlan",
    summary: "Get a source's tracking plan",
    access: "read",
    answer: { status: 200, description: "The plan and its mode", schema: SourcePlanView },
    errors: ["not_found"],
    commands: [{ name: "sources plan get", text: "{plan}", example: "Shop > plan.json" }],
  },
  "PUT /sources/:id/plan": {
    name: "sources.setPlan",
    summary: "Hold a source's messages to a tracking plan; replaces the plan that it has",
    access: "write",
    body: SourcePlanInput,
    answer: { status: 200, description: "The plan and its mode", schema: SourcePlanView },
    errors: ["not_found", "precondition_failed", "conflict"],
    commands: [
      {
        name: "sources plan set",
        arguments: ["plan"],
        text: "{name} has a tracking plan in the mode {mode}",
        example: "Shop plan.json --mode refuse",
      },
    ],
  },
  "DELETE /sources/:id/plan": {
    name: "sources.removePlan",
    summary: "Remove a source's tracking plan",
    access: "write",
    answer: { status: 204, description: "The source has no plan" },
    errors: ["not_found"],
    commands: [
      {
        name: "sources plan remove",
        confirm: "Remove the tracking plan of the source {name} ({id})",
        done: "removed",
        example: "Shop --yes",
      },
    ],
  },
  "GET /sources/:id/events": {
    name: "sources.events",
    summary: "List the names of events, pages and screens that a source sent, by kind and name",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of names", schema: EventListView },
    errors: ["not_found"],
    commands: [
      {
        name: "events list",
        columns:
          "type name count PLAN:isPlanned violations LAST_VIOLATION:lastViolation.message firstSeenAt lastSeenAt PROPERTIES:properties.name",
        notes: [
          "{names} names are listed, the most that are kept. {notKept} messages had others",
          "{behind} messages are not counted yet",
        ],
        example: "Shop --violating",
      },
    ],
  },
  "GET /event-names": {
    name: "sources.eventNames",
    summary: "List the names of track events that any source sent, with their properties",
    access: "read",
    answer: { status: 200, description: "The names", schema: EventNamesView },
  },
  "POST /sources/:id/write-keys": {
    name: "sources.addWriteKey",
    summary: "Add a write key; existing keys stay valid until you delete them",
    access: "write",
    answer: { status: 201, description: "The source; the new key is the last", schema: SourceView },
    errors: ["not_found", "conflict"],
    commands: [{ name: "sources rotate-key", text: "{writeKeys.-1.key}", example: "Shop" }],
  },
  "DELETE /sources/:id/write-keys/:key": {
    name: "sources.removeWriteKey",
    summary: "Delete a write key: it is refused from now on",
    access: "write",
    answer: { status: 204, description: "The key is deleted" },
    errors: ["not_found"],
    commands: [{ name: "sources delete-key", example: "Shop oregon_4kZfOld" }],
  },
} as const satisfies EndpointTable;
