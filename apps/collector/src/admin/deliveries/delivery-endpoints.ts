import { retryDelivery } from "../../delivery/control/retry-delivery.js";
import { destinations } from "../destinations/destination-endpoints.js";
import { requireTarget } from "../destinations/require-target.js";
import { notFound } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskFor } from "../masking/mask-for.js";
import { attemptsOf } from "../messages/outcomes.js";
import { requestBodyOf } from "../messages/request-body.js";
import { withoutUndefined } from "../without-undefined.js";
import { deliveryView } from "./delivery-view.js";
import { findDelivery } from "./find-delivery.js";
import { listDeliveries } from "./list-deliveries.js";

export const deliveryEndpoints: readonly Endpoint[] = [
  listDeliveries,
  endpoint("GET /deliveries/:id", async ({ params, token }, context) => {
    const { store } = context;
    const { delivery, message } = await findDelivery(store, params.id);
    const { consumerId } = delivery;
    const attempts = await attemptsOf(store, consumerId, message);
    const requestBody = attempts.length === 0 ? undefined : await requestBodyOf(context, consumerId, message);
    const body = withoutUndefined({ ...deliveryView(delivery, message), attempts, requestBody });
    return { status: 200, body: maskFor(token, body) };
  }),
  endpoint("POST /deliveries/:id/retry", async ({ params: { id } }, context) => {
    const { store, catalog, delivery: runtime } = context;
    const { delivery, message } = await findDelivery(store, id);
    requireTarget(await destinations.find(store.config, delivery.consumerId), catalog);
    if (!(await retryDelivery(context, delivery.consumerId, delivery.offset))) throw notFound("delivery", id);
    runtime.wake(delivery.consumerId);
    const { delivery: now } = await findDelivery(store, id);
    return { status: 202, body: deliveryView(now, message) };
  }),
];
