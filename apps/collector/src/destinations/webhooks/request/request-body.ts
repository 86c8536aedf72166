import { webhookPayload } from "@sluice/protocol";
import type { OutgoingMessage } from "../../destination.js";
import type { WebhooksSettings } from "../settings/settings.js";

/** The body of every request that sends the message. It depends on nothing else, so it is not stored with attempts. */
export function requestBody(
  { message, timestamp }: Pick<OutgoingMessage, "message" | "timestamp">,
  { payload }: Pick<WebhooksSettings, "payload">,
): string {
  return JSON.stringify(webhookPayload(message, timestamp, payload));
}

/** The body of a request with several messages. `bodies`: what they have alone. */
export function batchBody(bodies: readonly string[]): string {
  return `{"messages":[${bodies.join(",")}]}`;
}
