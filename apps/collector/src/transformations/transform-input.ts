import type { TransformItem } from "@sluice/transformations";
import type { OutgoingMessage } from "../destinations/destination.js";

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
