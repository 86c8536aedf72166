import { Type } from "@sinclair/typebox";
import { DELETION_STATUSES } from "@sluice/protocol";

const Digest = Type.String({ description: "SHA-256 of the user id, lower-case hex: ids are data too" });

export const DeletionSchema = Type.Object({
  id: Type.String(),
  status: Type.Union(DELETION_STATUSES.map((status) => Type.Literal(status))),
  createdAt: Type.String(),
  suppress: Type.Boolean(),
  userCount: Type.Integer(),
  step: Type.String({ description: "The step under way, or `done`" }),
  error: Type.Optional(Type.String()),
  receipt: Type.Optional(
    Type.Object({
      users: Type.Array(
        Type.Object({
          userIdSha256: Digest,
          messages: Type.Integer({ description: "Stored messages that were overwritten" }),
          attempts: Type.Integer({ description: "Delivery attempts whose texts were removed" }),
          retries: Type.Integer({ description: "Queued deliveries that were removed" }),
          profile: Type.Boolean(),
          audienceMemberships: Type.Integer(),
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

export const DeletionInputSchema = Type.Object(
  {
    userIds: Type.Array(Type.String({ minLength: 1, maxLength: 1_000 }), { minItems: 1, maxItems: 1_000 }),
    suppress: Type.Optional(
      Type.Boolean({ description: "Also refuse their later messages. Default: false" }),
    ),
  },
  { additionalProperties: false },
);

export const SuppressionSchema = Type.Object({ userIdSha256: Digest, since: Type.String() });
