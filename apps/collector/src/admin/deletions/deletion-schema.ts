import { type Static, Type } from "@sinclair/typebox";
import {
  DELETION_STATUSES,
  type DeletionInput,
  type DeletionPlan,
  type DeletionView,
  type SuppressionView,
} from "@sluice/protocol";
import type { SameShape } from "../same-shape.js";

const Digest = Type.String({
  description: "HMAC-SHA-256 of the id, lower-case hex, with a key of this collector: ids are data too",
});
const Kind = Type.Union([Type.Literal("user"), Type.Literal("anonymous"), Type.Literal("any")]);

export const DeletionSchema = Type.Object({
  id: Type.String(),
  status: Type.Union(DELETION_STATUSES.map((status) => Type.Literal(status))),
  createdAt: Type.String(),
  suppress: Type.Boolean(),
  includeAliases: Type.Boolean(),
  userCount: Type.Integer(),
  aliases: Type.Optional(
    Type.Array(Type.Object({ userId: Type.String(), aliases: Type.Array(Type.String()) }), {
      description:
        "Other user ids in the same profiles. They stay, unless `includeAliases` says that they go",
    }),
  ),
  step: Type.String({ description: "The step under way, or `done`" }),
  error: Type.Optional(Type.String()),
  receipt: Type.Optional(
    Type.Object({
      users: Type.Array(
        Type.Object({
          idHmac: Digest,
          kind: Kind,
          messages: Type.Integer({ description: "Stored messages that were overwritten" }),
          attempts: Type.Integer({ description: "Delivery attempts whose texts were removed" }),
          retries: Type.Integer({ description: "Queued deliveries that were removed" }),
          profile: Type.Boolean(),
          audienceMemberships: Type.Integer(),
          anonymousIds: Type.Integer({ description: "Anonymous ids that went with the user" }),
          aliases: Type.Optional(
            Type.Integer({ description: "Other user ids of the same profile that went with the user" }),
          ),
          aliasesLeft: Type.Integer({ description: "Other user ids of the same profile, which stayed" }),
        }),
      ),
      deleteMessages: Type.Array(
        Type.Object({
          sourceId: Type.String(),
          messageId: Type.String(),
          destinationIds: Type.Array(Type.String()),
        }),
      ),
      purgedAt: Type.Optional(Type.String({ description: "No call shows anything of them from here on" })),
      erasedAt: Type.Optional(
        Type.String({ description: "No byte of the data folder holds it from here on" }),
      ),
      tracesErasedAt: Type.Optional(
        Type.String({ description: "The delete messages were delivered or given up, and are erased too" }),
      ),
    }),
  ),
});

export const DeletionPlanSchema = Type.Object({
  dryRun: Type.Literal(true),
  suppress: Type.Boolean(),
  includeAliases: Type.Boolean(),
  users: Type.Array(
    Type.Object({
      userId: Type.Optional(Type.String()),
      anonymousId: Type.Optional(Type.String()),
      messages: Type.Integer(),
      messagesBySource: Type.Array(Type.Object({ sourceId: Type.String(), messages: Type.Integer() })),
      attempts: Type.Integer(),
      retries: Type.Integer(),
      profile: Type.Boolean(),
      audienceMemberships: Type.Integer(),
      anonymousIds: Type.Array(Type.String()),
      aliases: Type.Array(Type.String()),
    }),
  ),
});

const Id = Type.String({ minLength: 1, maxLength: 1_000 });

export const DeletionInputSchema = Type.Object(
  {
    userIds: Type.Optional(Type.Array(Id, { maxItems: 1_000 })),
    anonymousIds: Type.Optional(
      Type.Array(Id, {
        maxItems: 1_000,
        description: "Visitors who were never identified. With the user ids 1 to 1,000 in all",
      }),
    ),
    suppress: Type.Optional(
      Type.Boolean({ description: "Also refuse their later messages. Default: false" }),
    ),
    includeAliases: Type.Optional(
      Type.Boolean({
        description: "Also remove other user ids joined by alias. Default: false, they are listed",
      }),
    ),
    dryRun: Type.Optional(
      Type.Boolean({ description: "Change nothing and answer 200 with what would go. Default: false" }),
    ),
  },
  { additionalProperties: false },
);

export const SuppressionSchema = Type.Object({
  idHmac: Digest,
  kind: Kind,
  joinedTo: Type.Optional(
    Type.String({ description: "The id that was asked for, where this one is joined to it" }),
  ),
  since: Type.String(),
});

const _view: SameShape<Static<typeof DeletionSchema>, DeletionView> = true;
const _plan: SameShape<Static<typeof DeletionPlanSchema>, DeletionPlan> = true;
const _input: SameShape<Static<typeof DeletionInputSchema>, DeletionInput> = true;
const _suppression: SameShape<Static<typeof SuppressionSchema>, SuppressionView> = true;
