import type { OutgoingMessage } from "../destinations/destination.js";

/** A message as a transformation's function gets it. */
export interface TransformInput {
  readonly messageId: string;
  /** The message's own time. The function has no other clock. */
  readonly timeMs: number;
  readonly json: string;
}

/** The fields that the collector adds, or that the function sees as the collector knows them. */
export function transformInput({
  message,
  messageId,
  timestamp,
  receivedAtMs,
}: Pick<OutgoingMessage, "message" | "messageId" | "timestamp" | "receivedAtMs">): TransformInput {
  const receivedAt = new Date(receivedAtMs).toISOString();
  return {
    messageId,
    timeMs: Date.parse(timestamp),
    json: JSON.stringify({ ...message, messageId, timestamp, receivedAt }),
  };
}
