import type { MessageView, RejectedMessageView } from "@sluice/control-api";
import type { Offset, Rejection, StoredMessage } from "@sluice/event-log";
import { formatTime, planIssues } from "@sluice/protocol";
import type { PlanOf } from "../../documents/documents.js";
import type { KnownToken } from "../../tokens/tokens.js";
import { notFound, withoutUndefined } from "../document-resource.js";
import { maskFor } from "../masking.js";

/** A delivery is a message at a destination: `dst_4kZ….1042`. */
export function deliveryId(destinationId: string, offset: Offset): string {
  return `${destinationId}.${offset}`;
}

/** Throws `not_found` if the text is not a delivery id. */
export function parseDeliveryId(id: string): { destinationId: string; offset: Offset } {
  const match = /^(.+)\.(\d{1,15})$/.exec(id);
  if (match?.[1] === undefined) throw notFound("delivery", id);
  return { destinationId: match[1], offset: Number(match[2]) as Offset };
}

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

/**
 * How a stored message departs from its source's present plan. Worked out when it is shown: nothing has to be stored with the
 * message, and a new plan shows at once which of the recent messages it would refuse.
 */
export function violationsOf(
  { sourceId, message }: Pick<StoredMessage, "sourceId" | "message">,
  planOf: PlanOf | undefined,
): ReturnType<typeof planIssues> {
  const plan = planOf?.(sourceId)?.plan;
  return plan === undefined ? [] : planIssues(message, plan);
}

/** The same as a field that is absent if there are none. */
export function violationsField(
  stored: Pick<StoredMessage, "sourceId" | "message">,
  planOf: PlanOf | undefined,
) {
  const violations = violationsOf(stored, planOf);
  return violations.length === 0 ? {} : { violations };
}
