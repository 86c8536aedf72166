import { formatTime, type JsonObject, parseTime } from "@sluice/protocol";
import type { TransformItem, TransformResult } from "@sluice/transformations";
import type { OutgoingMessage } from "../destinations/destination.js";

/** What a message became on its way to a destination. `by` names the transformations with their versions. */
export type Transformed =
  /** One message, or several in their order; the very same object if no function changed it. */
  | { readonly kind: "messages"; readonly messages: readonly OutgoingMessage[]; readonly by: string }
  | { readonly kind: "dropped"; readonly by: string }
  /** A function failed: it would fail again. `message` may repeat the message's data, `where` does not. */
  | {
      readonly kind: "failed";
      readonly by: string;
      readonly id: string;
      readonly where: string;
      readonly message: string;
    }
  /** A transformation cannot be loaded now. */
  | { readonly kind: "unavailable"; readonly id: string; readonly message: string };

/** The message with what a function returned. */
function withResult(outgoing: OutgoingMessage, result: JsonObject): OutgoingMessage {
  const { receivedAt: _, timestamp, ...message } = result as OutgoingMessage["message"] & JsonObject;
  const { receivedAt } = outgoing.message;
  const timeMs = typeof timestamp === "string" ? parseTime(timestamp) : undefined;
  return {
    ...outgoing,
    messageId: String(message.messageId),
    timestamp: timeMs === undefined ? outgoing.timestamp : formatTime(timeMs),
    message: receivedAt === undefined ? message : { ...message, receivedAt },
  };
}

/** What a message becomes by its result: nothing if it was dropped, or has failed. */
export function afterResult(
  message: OutgoingMessage,
  result: TransformResult | undefined,
): readonly OutgoingMessage[] {
  switch (result?.kind) {
    case "same":
      return [message];
    case "messages":
      return result.messages.map((one) => withResult(message, one));
    default:
      return [];
  }
}

/** A message as a transformation's function gets it, with the fields that the collector adds. Its own time is the only clock. */
export function transformInput({
  message,
  messageId,
  timestamp,
  receivedAtMs,
}: Pick<OutgoingMessage, "message" | "messageId" | "timestamp" | "receivedAtMs">): TransformItem {
  const receivedAt = new Date(receivedAtMs).toISOString();
  return {
    fixed: { messageId, type: message.type, receivedAt },
    timeMs: Date.parse(timestamp),
    json: JSON.stringify({ ...message, messageId, timestamp, receivedAt }),
  };
}
