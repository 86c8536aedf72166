import { Type } from "@sinclair/typebox";
import type { Audiences, ComputedTraitDocument } from "@sluice/audiences";
import type { Versioned } from "@sluice/event-log";
import { COMPUTED_TRAIT_KINDS, type ComputedTraitView } from "@sluice/protocol";
import { DestinationIds, notTakenUp, SyncSchema } from "../audiences/audience-schema.js";

const Name = Type.String({ minLength: 1, maxLength: 200 });
const Kind = Type.Union(COMPUTED_TRAIT_KINDS.map((kind) => Type.Literal(kind)));
const Event = Type.String({ minLength: 1, maxLength: 1_000 });
const Property = Type.String({
  minLength: 1,
  maxLength: 1_000,
  description: "The property of the event; every kind but count needs one",
});
const WithinMs = Type.Integer({
  minimum: 1_000,
  description: "Only events of the last so many milliseconds",
});

export const ComputedTraitSchema = Type.Object({
  id: Type.String(),
  name: Name,
  key: Type.String({ description: "The trait that is sent" }),
  kind: Kind,
  event: Event,
  property: Type.Optional(Property),
  withinMs: Type.Optional(WithinMs),
  destinationIds: DestinationIds,
  enabled: Type.Boolean(),
  createdAt: Type.String(),
  status: SyncSchema,
  version: Type.Integer(),
});

export const ComputedTraitInputSchema = Type.Object(
  {
    name: Name,
    kind: Kind,
    event: Event,
    property: Type.Optional(Property),
    withinMs: Type.Optional(WithinMs),
    destinationIds: Type.Optional(DestinationIds),
    enabled: Type.Optional(Type.Boolean({ description: "Default: true" })),
  },
  { additionalProperties: false },
);

export const ComputedTraitDefinitionSchema = Type.Object(
  {
    kind: Kind,
    event: Event,
    property: Type.Optional(Property),
    withinMs: Type.Optional(WithinMs),
  },
  { additionalProperties: false },
);

export const UserValueSchema = Type.Object({
  userId: Type.Optional(Type.String({ description: "Absent while the user is anonymous" })),
  anonymousId: Type.Optional(Type.String()),
  value: Type.Unknown(),
});

export const ValueWhySchema = Type.Object({
  userId: Type.String(),
  value: Type.Optional(Type.Unknown({ description: "Absent where the user has none" })),
  events: Type.Integer({ description: "Events that it is made of" }),
  leftOut: Type.Optional(
    Type.Integer({ description: "Events of which nothing is in it, because a limit was reached" }),
  ),
  windowFrom: Type.Optional(Type.String({ description: "Only events after it count now" })),
  changesAt: Type.Optional(
    Type.String({ description: "When it changes next because an event leaves the window" }),
  ),
  madeOf: Type.Array(
    Type.Object({
      at: Type.String({ description: "When the event happened" }),
      value: Type.Unknown({ description: "What the value has of it: 1 for a count, else the property" }),
      times: Type.Optional(
        Type.Integer({ description: "How often this value came; the event is the first of them" }),
      ),
      messageId: Type.Optional(Type.String({ description: "Absent when it is not stored any more" })),
      sourceId: Type.Optional(Type.String()),
    }),
    { description: "Newest first, twenty at most; of the most frequent value by how often" },
  ),
});

export const ComputedTraitPreviewSchema = Type.Object({
  size: Type.Integer({ description: "Users who would have a value now" }),
  evaluated: Type.Integer({ description: "Profiles that were looked at" }),
  sample: Type.Array(UserValueSchema),
  tookMs: Type.Number(),
});

export const ComputedTraitPatchSchema = Type.Object(
  {
    name: Type.Optional(Name),
    kind: Type.Optional(Kind),
    event: Type.Optional(Event),
    property: Type.Optional(Type.Union([Property, Type.Null()])),
    withinMs: Type.Optional(Type.Union([WithinMs, Type.Null()])),
    destinationIds: Type.Optional(DestinationIds),
    enabled: Type.Optional(Type.Boolean()),
    version: Type.Optional(Type.Integer()),
  },
  { additionalProperties: false },
);

export async function computedTraitView(
  { id, version, value }: Versioned<ComputedTraitDocument>,
  audiences: Pick<Audiences, "figures">,
): Promise<ComputedTraitView> {
  const figures = await audiences.figures(id);
  return { id, ...value, status: figures?.status ?? notTakenUp(value.createdAt), version };
}
