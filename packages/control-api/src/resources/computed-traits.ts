import { Type } from "@sinclair/typebox";
import { COMPUTED_TRAIT_KINDS } from "@sluice/protocol";
import type { EndpointTable } from "../endpoint.js";
import { closed, ListQuery, listOf, oneOf, type Shape } from "../endpoint.js";
import { DefinitionName, DestinationIds, ENABLE_SYNC, SyncView, WhyQuery } from "./definitions.js";

const Property = Type.String({
  minLength: 1,
  maxLength: 1_000,
  description: "The event's property; every kind but count needs one",
});
const WithinMs = Type.Integer({
  minimum: 1_000,
  description: "Only events of the last so many milliseconds. Default: all events",
});

/** What a computed trait is computed from. */
export const ComputedTraitDefinition = closed({
  kind: oneOf(COMPUTED_TRAIT_KINDS),
  event: Type.String({ minLength: 1, maxLength: 1_000 }),
  property: Type.Optional(Property),
  withinMs: Type.Optional(WithinMs),
});
export type ComputedTraitDefinition = Shape<typeof ComputedTraitDefinition>;

export const ComputedTraitView = Type.Object({
  id: Type.String(),
  name: DefinitionName,
  key: Type.String({ description: "The trait that is sent" }),
  ...ComputedTraitDefinition.properties,
  destinationIds: DestinationIds,
  enabled: Type.Boolean(),
  createdAt: Type.String(),
  status: SyncView,
  version: Type.Integer(),
});
export type ComputedTraitView = Shape<typeof ComputedTraitView>;

export const ComputedTraitInput = closed({
  name: DefinitionName,
  ...ComputedTraitDefinition.properties,
  destinationIds: Type.Optional(DestinationIds),
  enabled: Type.Optional(Type.Boolean({ description: "Default: true" })),
});
export type ComputedTraitInput = Shape<typeof ComputedTraitInput>;

export const ComputedTraitPatch = closed({
  ...Type.Partial(ComputedTraitInput).properties,
  property: Type.Optional(Type.Union([Property, Type.Null()], { description: "null removes it" })),
  withinMs: Type.Optional(Type.Union([WithinMs, Type.Null()], { description: "null: all events" })),
  version: Type.Optional(Type.Integer()),
});
export type ComputedTraitPatch = Shape<typeof ComputedTraitPatch>;

/** A user with a value of a computed trait. */
export const UserValueView = Type.Object({
  userId: Type.Optional(Type.String({ description: "Absent while the user is anonymous" })),
  anonymousId: Type.Optional(Type.String()),
  value: Type.Unknown(),
});
export type UserValueView = Shape<typeof UserValueView>;

export const ValuePart = Type.Object({
  at: Type.String({ description: "When the event happened" }),
  value: Type.Unknown({ description: "What the event contributes: 1 for a count, else the property" }),
  times: Type.Optional(
    Type.Integer({ description: "How often this value occurred; the event is the first of them" }),
  ),
  messageId: Type.Optional(Type.String({ description: "Absent if the message is not stored any more" })),
  sourceId: Type.Optional(Type.String()),
});
export type ValuePart = Shape<typeof ValuePart>;

export const ValueWhyView = Type.Object({
  userId: Type.String(),
  value: Type.Optional(Type.Unknown({ description: "Absent if the user has none" })),
  events: Type.Integer({ description: "Events that contribute to the value" }),
  leftOut: Type.Optional(
    Type.Integer({ description: "Events that are missing because a limit was reached. Absent: none" }),
  ),
  windowFrom: Type.Optional(Type.String({ description: "Only events after this time count now" })),
  changesAt: Type.Optional(
    Type.String({ description: "When the value changes next because an event leaves the window" }),
  ),
  madeOf: Type.Array(ValuePart, {
    description:
      "The newest twenty events. For a list: its values, each with the event that first had it; for the most frequent value: the same, most frequent first",
  }),
});
export type ValueWhyView = Shape<typeof ValueWhyView>;

export const ComputedTraitPreview = Type.Object({
  size: Type.Integer({ description: "Users who would have a value now" }),
  evaluated: Type.Integer({ description: "Profiles evaluated" }),
  sample: Type.Array(UserValueView, {
    description: "Ten users at most, in the order in which the collector first saw them",
  }),
  tookMs: Type.Number(),
});
export type ComputedTraitPreview = Shape<typeof ComputedTraitPreview>;

export const computedTraitEndpoints = {
  "POST /computed-traits": {
    name: "computed_traits.create",
    summary: "Create a computed trait; its destinations receive every current value, then every change",
    access: "write",
    body: ComputedTraitInput,
    answer: { status: 201, description: "The computed trait", schema: ComputedTraitView },
    errors: ["conflict", "not_in_force"],
    commands: [
      {
        name: "traits create",
        arguments: ["name"],
        fields: ["kind", "event", "property", "withinMs", "destinationIds"],
        example:
          "'Spent 30 days' --kind sum --event 'Order Completed' --property total --within 30d --destination Orders",
      },
    ],
  },
  "GET /computed-traits": {
    name: "computed_traits.list",
    summary: "List computed traits, oldest first",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of computed traits", schema: listOf(ComputedTraitView) },
    commands: [
      { name: "traits list", columns: "id name key kind property event status.state status.progress" },
    ],
  },
  "POST /computed-traits/preview": {
    name: "computed_traits.preview",
    summary: "Compute a trait over all profiles and the stored history; nothing is changed or sent",
    access: "read",
    body: ComputedTraitDefinition,
    answer: {
      status: 200,
      description: "The number of users with a value, and a sample",
      schema: ComputedTraitPreview,
    },
    commands: [
      {
        name: "traits preview",
        text: "{size} of {evaluated} users would have a value (found in {tookMs} ms)",
        rows: "sample",
        example: '--kind sum --event "Order Completed" --property total --within 30d',
      },
    ],
  },
  "GET /computed-traits/:id": {
    name: "computed_traits.get",
    summary: "Get a computed trait with its sync status",
    access: "read",
    answer: { status: 200, description: "The computed trait", schema: ComputedTraitView },
    errors: ["not_found"],
    commands: [{ name: "traits get", example: '"Orders placed"' }],
  },
  "PATCH /computed-traits/:id": {
    name: "computed_traits.patch",
    summary: "Change a computed trait; only values that differ are sent. Its key stays the same",
    access: "write",
    body: ComputedTraitPatch,
    answer: { status: 200, description: "The changed computed trait", schema: ComputedTraitView },
    errors: ["not_found", "conflict", "precondition_failed", "not_in_force"],
    commands: [
      {
        name: "traits update",
        fields: ["name", "kind", "event", "property", "withinMs", "destinationIds"],
        example: '"Orders placed" --name "Orders"',
      },
      {
        name: "traits disable",
        summary: "Stop syncing",
        send: { enabled: false },
        example: '"Orders placed"',
      },
      { name: "traits enable", summary: ENABLE_SYNC, send: { enabled: true }, example: '"Orders placed"' },
    ],
  },
  "DELETE /computed-traits/:id": {
    name: "computed_traits.delete",
    summary: "Delete a computed trait: nothing more is sent",
    access: "write",
    answer: { status: 204, description: "The computed trait is deleted" },
    errors: ["not_found", "not_in_force"],
    commands: [
      {
        name: "traits delete",
        confirm: "Delete the computed trait {name} ({id})",
        example: '"Orders placed" --yes',
      },
    ],
  },
  "GET /computed-traits/:id/values": {
    name: "computed_traits.values",
    summary:
      "List the users who have a value, in the order in which the collector first saw them. If few users have one, a page can be short or empty and still have a `nextCursor`",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of users with their values", schema: listOf(UserValueView) },
    errors: ["not_found"],
    commands: [
      {
        name: "traits values",
        columns: "userId anonymousId value",
        limit: 50,
        example: '"Orders placed" --limit 100',
      },
    ],
  },
  "GET /computed-traits/:id/why": {
    name: "computed_traits.why",
    summary: "Explain a user's value: from how many events, in which window, from which messages",
    access: "read",
    query: WhyQuery,
    answer: { status: 200, description: "The explanation", schema: ValueWhyView },
    errors: ["not_found"],
    commands: [{ name: "traits why", arguments: ["userId"], example: '"Orders placed" user-42' }],
  },
} as const satisfies EndpointTable;
