import type { DeletionReceipt } from "@sluice/control-api";
import type { Delivery, Offset, Store } from "@sluice/event-log";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import type { DestinationDocument } from "../documents/documents.js";

export type DeleteMessage = DeletionReceipt["deleteMessages"][number];
export type DeleteDelivery = DeleteMessage["deliveries"][number];

type Reads = Pick<Store, "log" | "config" | "consumers">;

/** The `delete` messages of a receipt with their deliveries as they are now. Recorded ones stay for messages that are erased. */
export async function withDeliveries(
  messages: readonly DeleteMessage[],
  store: Reads,
): Promise<readonly DeleteMessage[]> {
  const destinations = await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination);
  const existing = new Set(destinations.map(({ id }) => id));
  return Promise.all(
    messages.map(async (message) => {
      const offset = await offsetOf(message, store);
      if (offset === undefined) return withoutMessage(message);
      const outcomes = await store.consumers.outcomesOf(offset);
      return {
        ...message,
        deliveries: message.destinationIds.map((destinationId) =>
          deliveryNow(
            destinationId,
            existing.has(destinationId),
            outcomes.find(({ consumerId }) => consumerId === destinationId),
          ),
        ),
      };
    }),
  );
}

/** Retention drops a message only when it has ended everywhere, but perhaps before anybody read how. */
function withoutMessage(message: DeleteMessage): DeleteMessage {
  const deliveries = message.deliveries.map((delivery): DeleteDelivery => {
    if (delivery.state !== "pending") return delivery;
    const error = "retention removed the delete message before its result was read";
    return { ...delivery, state: "failed", error };
  });
  return { ...message, deliveries };
}

/** How the delivery of a `delete` message to one destination stands. */
export function deliveryNow(
  destinationId: string,
  exists: boolean,
  outcome: Pick<Delivery, "state" | "reason" | "rounds"> | undefined,
): DeleteDelivery {
  const attempts = outcome?.rounds ?? 0;
  if (outcome?.state === "delivered") return { destinationId, state: "sent", attempts };
  if (!exists)
    return { destinationId, state: "not_sent", attempts, error: "the destination was deleted before" };
  if (outcome === undefined) return { destinationId, state: "pending", attempts };
  const { state, reason } = outcome;
  switch (state) {
    case "pending":
      // The reason of the last failed attempt. Before the first one there is none.
      return { destinationId, state, attempts, ...(attempts === 0 ? {} : { error: reason }) };
    case "filtered":
    case "suppressed":
      return { destinationId, state: "not_sent", attempts, error: reason };
    case "failed":
    case "discarded":
    case "skipped":
      return { destinationId, state: "failed", attempts, error: reason };
    default:
      return state satisfies never;
  }
}

/** The deliveries in one of the states. */
export function deliveriesIn(
  messages: readonly DeleteMessage[],
  ...states: readonly DeleteDelivery["state"][]
): readonly { readonly message: DeleteMessage; readonly delivery: DeleteDelivery }[] {
  return messages.flatMap((message) =>
    message.deliveries
      .filter(({ state }) => states.includes(state))
      .map((delivery) => ({ message, delivery })),
  );
}

/** Where a `delete` message is in the log; undefined once it is erased. */
export async function offsetOf(
  { sourceId, messageId }: Pick<DeleteMessage, "sourceId" | "messageId">,
  { log }: Pick<Reads, "log">,
): Promise<Offset | undefined> {
  const [message] = (await log.find({ sourceId, messageId }, { limit: 1 })).items;
  return message?.offset;
}
