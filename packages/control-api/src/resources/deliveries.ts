import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "../endpoint.js";
import { closed, described, listOf, listParameters, type Shape, timeParameters } from "../endpoint.js";
import { AttemptView, DeliveryStateView, RequestBodyView } from "./messages.js";

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

const messageFields = {
  type: Type.Optional(Type.String({ description: "The message's kind, such as `track`" })),
  event: Type.Optional(Type.String({ description: "The event of a track message" })),
  userId: Type.Optional(Type.String()),
  anonymousId: Type.Optional(Type.String()),
};

export const DeliveryView = Type.Object({
  ...delivery,
  ...messageFields,
  attempts: Type.Integer({ description: "Number of attempts made" }),
});
export type DeliveryView = Shape<typeof DeliveryView>;

export const DeliveryDetailView = Type.Object({
  ...delivery,
  ...messageFields,
  attempts: Type.Array(AttemptView),
  requestBody: Type.Optional(RequestBodyView),
});
export type DeliveryDetailView = Shape<typeof DeliveryDetailView>;

export const Cause = Type.String({
  description: "A status (`http_503`) or an error (`timeout`), as in `GET /delivery-groups`",
});

export const DeliveryGroupView = Type.Object({
  id: Type.String(),
  destinationId: Type.String(),
  cause: Cause,
  title: Type.String({ description: "The cause in words" }),
  advice: Type.String({ description: "What to do" }),
  count: Type.Integer({ description: "Deliveries that failed, or failed and wait for a retry" }),
  failed: Type.Integer({ description: "Those that are not retried any more" }),
  pending: Type.Integer({ description: "Those that wait for a retry" }),
  firstSeenAt: Type.String(),
  lastSeenAt: Type.String(),
  example: Type.Optional(
    Type.Object(
      {
        ...delivery,
        ...messageFields,
        attempt: Type.Optional(AttemptView),
        requestBody: Type.Optional(RequestBodyView),
      },
      { description: "The newest message, with its last attempt" },
    ),
  ),
});
export type DeliveryGroupView = Shape<typeof DeliveryGroupView>;

const DeliveryGroupPage = Type.Object({
  ...listOf(DeliveryGroupView).properties,
  isExact: Type.Boolean({
    description: "False: a destination has more deliveries than were counted, and the numbers are minimums",
  }),
});
export type DeliveryGroupPage = Shape<typeof DeliveryGroupPage>;

export const deliveryEndpoints = {
  "GET /deliveries": {
    name: "deliveries.list",
    summary: "List deliveries, newest first. Without `state`: failed and pending ones",
    access: "read",
    query: closed({
      destinationId: Type.Optional(Type.String()),
      state: Type.Optional(DeliveryStateView),
      error: Type.Optional(Type.String({ description: "Text that the reason contains" })),
      cause: Type.Optional(
        described(Cause, "Only failed and pending deliveries with this cause. Needs `destinationId`"),
      ),
      ...timeParameters,
      ...listParameters,
    }),
    answer: { status: 200, description: "A page of deliveries", schema: listOf(DeliveryView) },
    commands: [
      {
        name: "deliveries list",
        columns: "id destination messageId event|type userId|anonymousId state attempts nextAttemptAt reason",
        limit: 50,
        example: "--destination Warehouse --state failed",
      },
    ],
  },
  "GET /delivery-groups": {
    name: "deliveries.listGroups",
    summary: "Group failed and retried deliveries by destination and cause, largest first",
    access: "read",
    query: closed({ destinationId: Type.Optional(Type.String()), ...listParameters }),
    answer: { status: 200, description: "A page of groups", schema: DeliveryGroupPage },
    commands: [
      {
        name: "deliveries groups",
        columns: "destination cause failed RETRIED:pending firstSeenAt lastSeenAt title advice",
        empty: "Nothing fails: there are no failed or retried deliveries",
      },
    ],
  },
  "GET /deliveries/:id": {
    name: "deliveries.get",
    summary: "Get a delivery with the request and response of every attempt",
    access: "read",
    answer: { status: 200, description: "The delivery", schema: DeliveryDetailView },
    errors: ["not_found"],
    commands: [{ name: "deliveries get", example: "dst_4kZf.1042" }],
  },
  "POST /deliveries/:id/retry": {
    name: "deliveries.retry",
    summary: "Try a delivery now: a pending one without waiting for its next attempt, a finished one again",
    access: "write",
    answer: { status: 202, description: "The delivery as it is now", schema: DeliveryView },
    errors: ["not_found", "destination_disabled", "url_disabled"],
  },
} as const satisfies EndpointTable;
