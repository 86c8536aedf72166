import { Type } from "@sinclair/typebox";
import { COMPUTED_TRAIT_KINDS, type ComputedTraitView } from "@sluice/protocol";
import type { ComputedTraitDocument } from "../../audiences/definitions.js";
import type { Audiences } from "../../audiences/start-audiences.js";
import type { Versioned } from "../../store/store.js";
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
