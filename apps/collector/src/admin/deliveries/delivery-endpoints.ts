import type { Delivery, Store, StoredMessage } from "@sluice/event-log";
import { retryDelivery } from "../../delivery/control/retry-delivery.js";
import { CollectorError } from "../../errors.js";
import { destinations } from "../destinations/destination-endpoints.js";
import { requireTarget } from "../destinations/require-target.js";
import { notFound, withoutUndefined } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskFor } from "../masking.js";
import { parseDeliveryId } from "../messages/message-view.js";
import { attemptsOf, outcomesOf } from "../messages/outcomes.js";
import { requestBodyOf } from "../messages/request-body.js";
import { deliveryView, listDeliveries } from "./list-deliveries.js";

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

/** The delivery of that id, with its message. Throws `not_found`. */
async function findDelivery(
  store: Store,
  id: string,
): Promise<{ readonly delivery: Delivery; readonly message: StoredMessage }> {
  const { destinationId, offset } = parseDeliveryId(id);
  const [stored, outcomes] = await Promise.all([store.log.get(offset), store.consumers.outcomesOf(offset)]);
  const delivery = outcomes.find(({ consumerId }) => consumerId === destinationId);
  if (stored !== undefined && delivery !== undefined) return { delivery, message: stored };
  const queued = stored && (await outcomesOf(store, stored)).find((outcome) => outcome.id === id);
  if (queued === undefined) throw notFound("delivery", id);
  throw new CollectorError(
    "not_found",
    `${id} is not a delivery yet (${queued.state}: ${queued.reason}): its destination has not read the message yet`,
  );
}
