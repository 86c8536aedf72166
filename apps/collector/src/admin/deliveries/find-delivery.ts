import { CollectorError } from "../../errors.js";
import type { Delivery, Store, StoredMessage } from "../../store/store.js";
import { parseDeliveryId } from "../messages/delivery-id.js";

/** The delivery of that id, with its message; throws `not_found`. */
export async function findDelivery(
  store: Store,
  id: string | undefined,
): Promise<{ readonly delivery: Delivery; readonly message: StoredMessage }> {
  const { destinationId, offset } = parseDeliveryId(id);
  const [stored, outcomes] = await Promise.all([store.log.get(offset), store.consumers.outcomesOf(offset)]);
  const delivery = outcomes.find(({ consumerId }) => consumerId === destinationId);
  if (stored === undefined || delivery === undefined)
    throw new CollectorError("not_found", `no delivery has the id ${id}`);
  return { delivery, message: stored };
}
