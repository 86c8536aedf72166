import type { Delivery, Store, StoredMessage } from "@sluice/event-log";
import { CollectorError } from "../../errors.js";
import { parseDeliveryId } from "../messages/delivery-id.js";
import { outcomesOf } from "../messages/outcomes.js";

/** The delivery of that id, with its message; throws `not_found`. */
export async function findDelivery(
  store: Store,
  id: string | undefined,
): Promise<{ readonly delivery: Delivery; readonly message: StoredMessage }> {
  const { destinationId, offset } = parseDeliveryId(id);
  const [stored, outcomes] = await Promise.all([store.log.get(offset), store.consumers.outcomesOf(offset)]);
  const delivery = outcomes.find(({ consumerId }) => consumerId === destinationId);
  if (stored !== undefined && delivery !== undefined) return { delivery, message: stored };
  const known = stored && (await outcomesOf(store, stored)).find((outcome) => outcome.id === id);
  throw new CollectorError(
    "not_found",
    known === undefined
      ? `no delivery has the id ${id}`
      : `${id} is no delivery yet (${known.state}: ${known.reason}): its destination has not come to it yet, and does by itself`,
  );
}
