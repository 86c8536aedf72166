import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "../endpoint.js";
import { closed, ListQuery, listOf, oneOf, type Shape } from "../endpoint.js";

const Digest = Type.String({
  description:
    "HMAC-SHA-256 of the id with its kind, in lower-case hex, because ids are personal data too. The key is derived from the collector's secret key",
});

export const IdKind = oneOf(["user", "anonymous"]);
export type IdKind = Shape<typeof IdKind>;

const Id = Type.String({ minLength: 1, maxLength: 1_000 });
export const DeletionInput = closed({
  userIds: Type.Optional(
    Type.Array(Id, { maxItems: 1_000, description: "Users, with the anonymous ids joined to them" }),
  ),
  anonymousIds: Type.Optional(
    Type.Array(Id, {
      maxItems: 1_000,
      description:
        "Visitors who were never identified. If an id is joined to a user, only the messages without a user id are removed. Together with `userIds`: 1 to 1,000 ids",
    }),
  ),
  suppress: Type.Optional(Type.Boolean({ description: "Also refuse their later messages. Default: false" })),
  includeAliases: Type.Optional(
    Type.Boolean({ description: "Also remove user ids joined by alias. Default: false, they are listed" }),
  ),
  dryRun: Type.Optional(
    Type.Boolean({ description: "Change nothing and answer 200 with what would be removed. Default: false" }),
  ),
});
export type DeletionInput = Shape<typeof DeletionInput>;

/** What a deletion would remove now. */
export const DeletionPlan = Type.Object({
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
      retries: Type.Integer({ description: "Deliveries that wait for their next attempt" }),
      profile: Type.Boolean(),
      audienceMemberships: Type.Integer(),
      anonymousIds: Type.Array(Type.String(), {
        description: "Anonymous ids joined to the user, without those in `aliases`; they are removed too",
      }),
      aliases: Type.Array(Type.String(), {
        description: "Other user ids of the profile; they are removed only with `includeAliases`",
      }),
    }),
    { description: "One per id of the request: user ids first, then anonymous ids" },
  ),
});
export type DeletionPlan = Shape<typeof DeletionPlan>;

const DeleteDelivery = Type.Object({
  destinationId: Type.String(),
  state: oneOf(["sent", "pending", "failed", "not_sent"], {
    description:
      "`failed`: given up, discarded, or skipped because the destination was disabled; a retry sends it again. `not_sent`: a filter keeps it back, or the destination was deleted",
  }),
  attempts: Type.Integer(),
  error: Type.Optional(Type.String({ description: "Why the last attempt failed, or why it is not sent" })),
});

export const DeletionReceipt = Type.Object({
  users: Type.Array(
    Type.Object({
      idHmac: Digest,
      kind: IdKind,
      messages: Type.Integer({ description: "Stored messages that were overwritten" }),
      attempts: Type.Integer({ description: "Delivery attempts whose texts were removed" }),
      retries: Type.Integer({ description: "Queued deliveries that were removed" }),
      profile: Type.Boolean(),
      audienceMemberships: Type.Integer(),
      anonymousIds: Type.Integer({ description: "Anonymous ids that were removed with the user" }),
      aliases: Type.Optional(
        Type.Integer({
          description: "Other user ids of the profile that were removed with the user. Absent: none",
        }),
      ),
      aliasesLeft: Type.Integer({ description: "Other user ids of the profile that stayed" }),
    }),
    { description: "One per id of the request, in its order" },
  ),
  deleteMessages: Type.Array(
    Type.Object({
      sourceId: Type.String(),
      messageId: Type.String(),
      destinationIds: Type.Array(Type.String()),
      deliveries: Type.Array(DeleteDelivery, { description: "One per destination" }),
    }),
    {
      description:
        "The delete messages, one per affected source with an enabled webhook destination, and how each delivery stands",
    },
  ),
  destinations: Type.Optional(
    Type.Array(
      Type.Object({
        destinationId: Type.String(),
        takes: oneOf(["message", "erase", "none"], {
          description:
            "`message`: it gets a delete message. `erase`: it removes what it has of the user. `none`: it keeps what it got",
        }),
        message: Type.String({
          description: "What the deletion does there, and what is left to do, in words",
        }),
      }),
      {
        description:
          "Destinations that got messages of the users' sources. `deleteMessages` has how those that are told did. Absent: none",
      },
    ),
  ),
  purgedAt: Type.Optional(Type.String({ description: "From here on no call shows anything of the users" })),
  erasedAt: Type.Optional(
    Type.String({ description: "From here on no byte of theirs is in the data folder" }),
  ),
  tracesErasedAt: Type.Optional(
    Type.String({ description: "When the delete messages were erased too. Nothing is retried from here on" }),
  ),
  gaveUpAt: Type.Optional(
    Type.String({ description: "When somebody ended the deletion although deliveries had failed" }),
  ),
});
export type DeletionReceipt = Shape<typeof DeletionReceipt>;

const DeletionStatus = oneOf(["initialized", "running", "undelivered", "finished", "failed"], {
  description:
    "`undelivered`: the data is removed, but a delete message failed; retry it or give up. `finished`: the data is removed, and every delete message is sent (or somebody gave up)",
});
export type DeletionStatus = Shape<typeof DeletionStatus>;

export const DeletionView = Type.Object({
  id: Type.String(),
  status: DeletionStatus,
  createdAt: Type.String(),
  suppress: Type.Boolean(),
  includeAliases: Type.Boolean(),
  userCount: Type.Integer({ description: "Number of ids in the request" }),
  aliases: Type.Optional(
    Type.Array(Type.Object({ userId: Type.String(), aliases: Type.Array(Type.String()) }), {
      description:
        "Users with other user ids in the same profile. These stay unless `includeAliases` is true. Absent if there are none, and once everything is removed",
    }),
  ),
  step: Type.String({ description: "The current step, or `done`" }),
  error: Type.Optional(
    Type.String({ description: "Why it failed. It is tried again later and at the next start" }),
  ),
  receipt: Type.Optional(DeletionReceipt),
});
export type DeletionView = Shape<typeof DeletionView>;

/** An id whose messages are refused. */
export const SuppressionView = Type.Object({
  idHmac: Digest,
  kind: IdKind,
  joinedTo: Type.Optional(
    Type.String({
      description: "The id of the request, if this id is suppressed because it is joined to it",
    }),
  ),
  since: Type.String(),
});
export type SuppressionView = Shape<typeof SuppressionView>;

export const deletionEndpoints = {
  "POST /deletions": {
    name: "deletions.create",
    summary: "Remove users and notify the webhook destinations of the sources that sent their messages",
    access: "write",
    body: DeletionInput,
    // `joined` may have hundreds of ids for each of 1,000 users.
    bodyBytes: 32 * 1_024 * 1_024,
    isBodyPersonal: true,
    // When it is repeated, the profiles may be gone.
    repeatableWithout: ["joined"],
    answer: {
      status: 201,
      description: "The deletion; it runs in the background",
      schema: DeletionView,
    },
    unchangedAnswer: {
      status: 200,
      description: "With `dryRun`: what would be removed",
      schema: DeletionPlan,
    },
    commands: [
      {
        name: "deletions create",
        arguments: ["userIds"],
        names: { anonymousIds: "anonymous" },
        confirm: "Delete this permanently",
        notes: ["See its progress and receipt: npx sluice deletions get {id}"],
        rows: "users",
        columns:
          "userId|anonymousId messages attempts QUEUED:retries profile AUDIENCES:audienceMemberships DEVICES:anonymousIds aliases",
        example: "user-42 --suppress --dry-run",
      },
    ],
  },
  "GET /deletions": {
    name: "deletions.list",
    summary: "List deletions, newest first",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of deletions", schema: listOf(DeletionView) },
    commands: [{ name: "deletions list", columns: "id status step USERS:userCount createdAt", limit: 50 }],
  },
  "GET /deletions/:id": {
    name: "deletions.get",
    summary: "Get a deletion's progress and its receipt",
    access: "read",
    answer: { status: 200, description: "The deletion", schema: DeletionView },
    errors: ["not_found"],
    commands: [{ name: "deletions get", example: "del_4kZf" }],
  },
  "POST /deletions/:id/retry": {
    name: "deletions.retry",
    summary: "Send the failed delete messages of a deletion again",
    access: "write",
    body: closed({
      destinationId: Type.Optional(Type.String({ description: "Only to this destination. Default: to all" })),
    }),
    answer: { status: 202, description: "The deletion", schema: DeletionView },
    errors: ["not_found", "conflict", "destination_disabled", "url_disabled"],
    commands: [{ name: "deletions retry", example: "del_4kZf --destination Warehouse" }],
  },
  "POST /deletions/:id/give-up": {
    name: "deletions.giveUp",
    summary: "End a deletion whose delete messages failed: erase them, and keep the failures in the receipt",
    access: "write",
    answer: { status: 202, description: "The deletion", schema: DeletionView },
    errors: ["not_found", "conflict"],
    commands: [
      {
        name: "deletions give-up",
        confirm: "End the deletion {id} without telling the destinations that failed",
        example: "del_4kZf --yes",
      },
    ],
  },
  "GET /suppressions": {
    name: "suppressions.list",
    summary: "List the ids whose messages are refused, as digests, oldest first",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of suppressed ids", schema: listOf(SuppressionView) },
    commands: [{ name: "deletions suppressed", columns: "ID_(HMAC):idHmac kind joinedTo since" }],
  },
  "DELETE /suppressions/:userId": {
    name: "suppressions.lift",
    summary: "Accept an id's messages again from now on, and those of the ids suppressed with it",
    access: "write",
    query: closed({
      by: Type.Optional(
        oneOf(["userId", "anonymousId", "idHmac"], {
          description: "What the id in the path is. Default: `userId`",
        }),
      ),
    }),
    answer: { status: 204, description: "The suppression is lifted" },
    errors: ["not_found"],
    commands: [{ name: "deletions lift", done: "lifted", example: "42" }],
  },
} as const satisfies EndpointTable;
