import { replay, retryDelivery } from "../../delivery/control/replay.js";
import { newId } from "../../documents/new-id.js";
import { destinations } from "../destinations/destination-endpoints.js";
import { requireTarget } from "../destinations/require-target.js";
import { notFound } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskFor } from "../masking/mask-for.js";
import { attemptsOf } from "../messages/outcomes.js";
import { timeSpan } from "../paging/page-request.js";
import { deliveryView } from "./delivery-view.js";
import { findDelivery } from "./find-delivery.js";
import { listDeliveries } from "./list-deliveries.js";

export const deliveryEndpoints: readonly Endpoint[] = [
  listDeliveries,
  endpoint("GET /deliveries/:id", async ({ params, token }, { store }) => {
    const { delivery, message } = await findDelivery(store, params.id);
    const attempts = await attemptsOf(store, delivery.consumerId, message);
    return { status: 200, body: maskFor(token, { ...deliveryView(delivery, message), attempts }) };
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
  endpoint("POST /replays", async ({ body: { filter, dryRun = false } }, context) => {
    const { destinationId } = filter;
    requireTarget(await destinations.find(context.store.config, destinationId), context.catalog);
    const { from: _from, to: _to, ...rest } = filter;
    const { count } = await replay(context, { ...rest, ...timeSpan(filter) }, { dryRun });
    if (dryRun) return { status: 200, body: { count }, target: destinationId };
    context.delivery.wake(destinationId);
    return { status: 201, body: { id: newId("rpl"), count }, target: destinationId };
  }),
];
