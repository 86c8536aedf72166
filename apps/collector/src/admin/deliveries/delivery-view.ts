import type { DeliveryView } from "@sluice/control-api";
import type { Delivery, StoredMessage } from "@sluice/event-log";
import { outcomeSummary } from "../messages/outcomes.js";

export function deliveryView(
  delivery: Delivery,
  { messageId, sourceId }: Pick<StoredMessage, "messageId" | "sourceId">,
): DeliveryView {
  return { ...outcomeSummary(delivery), messageId, sourceId, attempts: delivery.rounds };
}
