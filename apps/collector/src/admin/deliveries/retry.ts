import { retryDelivery as retry } from "../../delivery/control/replay.js";
import { CollectorError } from "../../errors.js";
import { findDestination } from "../destinations/find-destination.js";
import { requireTarget } from "../destinations/require-target.js";
import { endpoint } from "../endpoint.js";
import { DeliverySchema, deliveryView } from "./delivery-schema.js";
import { findDelivery } from "./find-delivery.js";

export const retryDelivery = endpoint({
  name: "deliveries.retry",
  method: "POST",
  path: "/deliveries/:id/retry",
  summary: "Try a delivery now: a pending one without waiting for its time, a settled one anew",
  access: "write",
  answers: { status: 202, description: "The delivery as it is now", schema: DeliverySchema },
  errors: ["not_found", "url_disabled"],
  async handle({ params }, { store, catalog, clock, delivery: runtime }) {
    const { delivery, message } = await findDelivery(store, params.id);
    requireTarget(await findDestination(store.config, delivery.consumerId), catalog);
    if (!(await retry({ store, clock }, delivery.consumerId, delivery.offset)))
      throw new CollectorError("not_found", `no delivery has the id ${params.id}`);
    runtime.wake(delivery.consumerId);
    const { delivery: now } = await findDelivery(store, params.id);
    return { status: 202, body: deliveryView(now, message) };
  },
});
