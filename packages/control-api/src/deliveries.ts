import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "./endpoint.js";
import { listOf, listParameters, timeParameters } from "./list.js";
import { AttemptView, DeliveryStateView, FinalStateView } from "./messages.js";
import { closed, described, type Shape } from "./shape.js";

const delivery = {
  id: Type.String(),
  messageId: Type.String(),
  sourceId: Type.String({ description: "The message's source: two sources may send the same message id" }),
  destinationId: Type.String(),
  state: DeliveryStateView,
  reason: Type.String(),
  at: Type.String(),
  nextAttemptAt: Type.Optional(Type.String()),
};

export const DeliveryView = Type.Object({
  ...delivery,
  attempts: Type.Integer({ description: "Number of attempts made" }),
});
export type DeliveryView = Shape<typeof DeliveryView>;

export const DeliveryDetailView = Type.Object({ ...delivery, attempts: Type.Array(AttemptView) });
export type DeliveryDetailView = Shape<typeof DeliveryDetailView>;

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
  id: Type.Optional(Type.String({ description: "Absent on a dry run" })),
  count: Type.Integer({ description: "Messages that are sent again, or would be" }),
});
export type ReplayView = Shape<typeof ReplayView>;

export const deliveryEndpoints = {
  "GET /deliveries": {
    name: "deliveries.list",
    summary: "List deliveries, newest first. Without `state`: failed and pending ones",
    access: "read",
    query: closed({
      destinationId: Type.Optional(Type.String()),
      state: Type.Optional(DeliveryStateView),
      error: Type.Optional(Type.String({ description: "Text that the reason contains" })),
      ...timeParameters,
      ...listParameters,
    }),
    answer: { status: 200, description: "A page of deliveries", schema: listOf(DeliveryView) },
  },
  "GET /deliveries/:id": {
    name: "deliveries.get",
    summary: "Get a delivery with the request and response of every attempt",
    access: "read",
    answer: { status: 200, description: "The delivery", schema: DeliveryDetailView },
    errors: ["not_found"],
  },
  "POST /deliveries/:id/retry": {
    name: "deliveries.retry",
    summary: "Try a delivery now: a pending one without waiting for its next attempt, a finished one again",
    access: "write",
    answer: { status: 202, description: "The delivery as it is now", schema: DeliveryView },
    errors: ["not_found", "url_disabled"],
  },
  "POST /replays": {
    name: "replays.create",
    summary: "Send finished messages to a destination again, under the same message ids; or count them",
    access: "write",
    body: ReplayInput,
    answer: { status: 201, description: "The number of messages", schema: ReplayView },
    errors: ["not_found", "url_disabled"],
  },
} as const satisfies EndpointTable;
