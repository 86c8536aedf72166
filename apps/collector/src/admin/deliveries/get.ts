import { endpoint } from "../endpoint.js";
import { maskFor } from "../mask-for.js";
import { attemptsOf } from "../messages/outcomes.js";
import { DeliveryDetailSchema, deliveryView } from "./delivery-schema.js";
import { findDelivery } from "./find-delivery.js";

export const getDelivery = endpoint({
  name: "deliveries.get",
  method: "GET",
  path: "/deliveries/:id",
  summary: "One delivery with every attempt: request and response",
  access: "read",
  answers: { status: 200, description: "The delivery", schema: DeliveryDetailSchema },
  errors: ["not_found"],
  async handle({ params, token }, { store }) {
    const { delivery, message } = await findDelivery(store, params.id);
    const attempts = await attemptsOf(store, delivery.consumerId, {
      offset: delivery.offset,
      messageId: message.messageId,
    });
    return { status: 200, body: maskFor(token, { ...deliveryView(delivery, message), attempts }) };
  },
});
