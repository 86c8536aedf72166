import { type Static, Type } from "@sinclair/typebox";
import type { Delivery, StoredMessage } from "@sluice/event-log";
import { type DeliveryDetailView, type DeliveryView, formatTime } from "@sluice/protocol";
import { deliveryId } from "../messages/delivery-id.js";
import { AttemptSchema, StateSchema } from "../messages/message-schema.js";
import type { SameShape } from "../same-shape.js";

const delivery = {
  id: Type.String(),
  messageId: Type.String(),
  sourceId: Type.String(),
  destinationId: Type.String(),
  state: StateSchema,
  reason: Type.String(),
  at: Type.String(),
  nextAttemptAt: Type.Optional(Type.String()),
};
export const DeliverySchema = Type.Object({
  ...delivery,
  attempts: Type.Integer({ description: "Rounds of attempts made" }),
});
export const DeliveryDetailSchema = Type.Object({ ...delivery, attempts: Type.Array(AttemptSchema) });

const _delivery: SameShape<Static<typeof DeliverySchema>, DeliveryView> = true;
const _detail: SameShape<Static<typeof DeliveryDetailSchema>, DeliveryDetailView> = true;

export function deliveryView(
  delivery: Delivery,
  { messageId, sourceId }: Pick<StoredMessage, "messageId" | "sourceId">,
): DeliveryView {
  return {
    id: deliveryId(delivery.consumerId, delivery.offset),
    messageId,
    sourceId,
    destinationId: delivery.consumerId,
    state: delivery.state,
    reason: delivery.reason,
    at: formatTime(delivery.atMs),
    attempts: delivery.rounds,
    ...(delivery.nextAttemptAtMs === undefined
      ? {}
      : { nextAttemptAt: formatTime(delivery.nextAttemptAtMs) }),
  };
}
