import type { DeliveryView } from "@sluice/control-api";
import type { Delivery, StoredMessage } from "@sluice/event-log";
import { outcomeSummary } from "../messages/outcomes.js";

export function deliveryView(
  delivery: Delivery,
  { messageId, sourceId, message }: Pick<StoredMessage, "messageId" | "sourceId" | "message">,
): DeliveryView {
  return {
    ...outcomeSummary(delivery),
    messageId,
    sourceId,
    ...messageFields(message),
    attempts: delivery.rounds,
  };
}

/** What names a message besides its id. */
function messageFields(
  message: StoredMessage["message"],
): Pick<DeliveryView, "type" | "event" | "userId" | "anonymousId"> {
  const text = (name: "type" | "event" | "userId" | "anonymousId") =>
    typeof message[name] === "string" ? { [name]: message[name] } : {};
  return { ...text("type"), ...text("event"), ...text("userId"), ...text("anonymousId") };
}
