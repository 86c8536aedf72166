import type { MessageView, RejectedMessageView } from "@sluice/control-api";
import type { Rejection, StoredMessage } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { KnownToken } from "../../tokens/tokens.js";
import { maskFor } from "../masking/mask-for.js";
import { withoutUndefined } from "../without-undefined.js";

/** The fields of a stored message that lists, look-ups and the live stream share. */
export function receivedView({ messageId, sourceId, receivedAtMs, message }: StoredMessage) {
  return { messageId, sourceId, receivedAt: formatTime(receivedAtMs), message };
}

export function rejectedView(rejection: Rejection): RejectedMessageView {
  const { messageId, sourceId, receivedAtMs, type, issues, excerpt } = rejection;
  const receivedAt = formatTime(receivedAtMs);
  return withoutUndefined({
    messageId,
    sourceId,
    receivedAt,
    state: "rejected" as const,
    type,
    issues,
    excerpt,
  });
}

/** A message as the token may see it: everything that was received, and outcomes with masked URLs and headers. */
export function maskedMessage(token: KnownToken, message: MessageView): MessageView {
  return message.state === "rejected" ? message : { ...message, outcomes: maskFor(token, message.outcomes) };
}
