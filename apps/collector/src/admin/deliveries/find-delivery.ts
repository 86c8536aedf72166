import type { Delivery, Store, StoredMessage } from "@sluice/event-log";
import { CollectorError } from "../../errors.js";
import { notFound } from "../document-resource.js";
import { parseDeliveryId } from "../messages/delivery-id.js";
import { outcomesOf } from "../messages/outcomes.js";

/** The delivery of that id, with its message. Throws `not_found`. */
export async function findDelivery(
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
