import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "../endpoint.js";
import { closed, described, ListQuery, listOf, oneOf, type Shape, timeParameters } from "../endpoint.js";
import { Cause } from "./deliveries.js";
import { DeliveryStateView, FinalStateView } from "./messages.js";

export const ReplayFilter = closed({
  destinationId: Type.String(),
  messageId: Type.Optional(Type.String()),
  type: Type.Optional(Type.String()),
  event: Type.Optional(Type.String()),
  userId: Type.Optional(Type.String()),
  state: Type.Optional(
    described(
      FinalStateView,
      "Only messages that ended in this state there. To send a pending one now, retry its delivery",
    ),
  ),
  ...timeParameters,
});
export type ReplayFilter = Shape<typeof ReplayFilter>;

export const ReplayInput = closed({
  filter: ReplayFilter,
  dryRun: Type.Optional(Type.Boolean({ description: "Only count the messages. Default: false" })),
});
export type ReplayInput = Shape<typeof ReplayInput>;

export const ReplayView = Type.Object({
  id: Type.Optional(
    Type.String({ description: "The operation's id, for `GET /operations/:id`. Absent on a dry run" }),
  ),
  count: Type.Integer({ description: "Messages that are sent again, or would be" }),
});
export type ReplayView = Shape<typeof ReplayView>;

export const OperationKind = oneOf(["retry", "replay", "discard"], {
  description:
    "`retry`: send failed messages again, and pending ones now. `replay`: send finished messages again, in any state. `discard`: give failed and pending deliveries up",
});
export type OperationKind = Shape<typeof OperationKind>;

export const OperationFilter = closed({
  destinationId: Type.Optional(
    Type.String({ description: "Default: every destination; a retry or replay leaves out disabled ones" }),
  ),
  cause: Type.Optional(Cause),
  state: Type.Optional(
    described(DeliveryStateView, "Default: failed and pending, or for a replay every final state"),
  ),
  messageId: Type.Optional(Type.String()),
  type: Type.Optional(Type.String()),
  event: Type.Optional(Type.String()),
  userId: Type.Optional(Type.String({ description: "The user id, or the anonymous id if there is none" })),
  ...timeParameters,
});
export type OperationFilter = Shape<typeof OperationFilter>;

export const OperationInput = closed({
  kind: OperationKind,
  filter: Type.Optional(described(OperationFilter, "Either this or `ids` is required")),
  ids: Type.Optional(
    Type.Array(Type.String({ maxLength: 200 }), {
      minItems: 1,
      maxItems: 1_000,
      description: "Ids of deliveries",
    }),
  ),
  perSecond: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 5_000, description: "Messages started per second. Default: 200" }),
  ),
  dryRun: Type.Optional(Type.Boolean({ description: "Only count the deliveries. Default: false" })),
});
export type OperationInput = Shape<typeof OperationInput>;

export const OperationCount = Type.Object({
  total: Type.Integer({ description: "Deliveries that the operation would change" }),
});
export type OperationCount = Shape<typeof OperationCount>;

export const OperationView = Type.Object({
  id: Type.String(),
  kind: OperationKind,
  state: oneOf(["selecting", "running", "finished", "cancelled", "failed"], {
    description: "`selecting`: it looks for the deliveries, so `total` still grows",
  }),
  filter: Type.Optional(OperationFilter),
  ids: Type.Optional(Type.Integer({ description: "The number of ids it was given" })),
  createdAt: Type.String(),
  createdBy: Type.Object({ tokenId: Type.String(), tokenName: Type.String() }),
  startedAt: Type.Optional(Type.String()),
  finishedAt: Type.Optional(Type.String()),
  total: Type.Integer(),
  done: Type.Integer({ description: "Deliveries whose result is known: the sum of `results`" }),
  failed: Type.Integer({ description: "Those that failed again" }),
  waiting: Type.Integer({ description: "Deliveries that were started and have no result yet" }),
  results: Type.Object({
    delivered: Type.Integer(),
    failed: Type.Integer({ description: "Failed again; a retry may still follow" }),
    discarded: Type.Integer(),
    skipped: Type.Integer({
      description: "Not changed: meanwhile delivered, in flight, filtered, or no longer stored",
    }),
  }),
  causes: Type.Array(Type.Object({ cause: Cause, title: Type.String(), count: Type.Integer() }), {
    description: "Why deliveries failed again, most frequent first",
  }),
  ratePerSecond: Type.Number({
    description: "Results per second: of the last seconds, or of the whole operation",
  }),
  perSecond: Type.Integer({ description: "Messages started per second at most" }),
  error: Type.Optional(Type.String()),
});
export type OperationView = Shape<typeof OperationView>;

export const operationEndpoints = {
  "POST /operations": {
    name: "operations.create",
    summary: "Retry, replay or discard many deliveries, in the background",
    access: "write",
    body: OperationInput,
    answer: { status: 202, description: "The operation; it runs in the background", schema: OperationView },
    unchangedAnswer: { status: 200, description: "With `dryRun`: the count", schema: OperationCount },
    errors: ["not_found", "destination_disabled", "url_disabled"],
    isBodyPersonal: true,
  },
  "GET /operations": {
    name: "operations.list",
    summary: "List operations, newest first. The last 200 are kept",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of operations", schema: listOf(OperationView) },
    commands: [
      {
        name: "operations list",
        columns: "id kind state done total startedAt|createdAt BY:createdBy.tokenName results",
        limit: 50,
      },
    ],
  },
  "GET /operations/:id": {
    name: "operations.get",
    summary: "Get an operation's progress and result",
    access: "read",
    answer: { status: 200, description: "The operation", schema: OperationView },
    errors: ["not_found"],
  },
  "POST /operations/:id/cancel": {
    name: "operations.cancel",
    summary: "Stop an operation. Deliveries that it has started go on",
    access: "write",
    answer: { status: 200, description: "The operation", schema: OperationView },
    errors: ["not_found"],
    commands: [{ name: "operations cancel", example: "op_4kZf" }],
  },
  "POST /replays": {
    name: "replays.create",
    summary:
      "Send finished messages to a destination again, under the same message ids; or count them. Starts an operation of kind `replay`",
    access: "write",
    body: ReplayInput,
    answer: { status: 201, description: "The number of messages", schema: ReplayView },
    errors: ["not_found", "destination_disabled", "url_disabled"],
    isBodyPersonal: true,
  },
} as const satisfies EndpointTable;
