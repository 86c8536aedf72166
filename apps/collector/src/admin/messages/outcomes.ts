import type {
  AttemptView,
  MessageView,
  OutcomeSummary,
  OutcomeView,
  RejectedMessageView,
} from "@sluice/control-api";
import {
  type Attempt,
  type Delivery,
  DOCUMENT_KINDS,
  type Offset,
  type Rejection,
  type Store,
  type StoredMessage,
  type Versioned,
} from "@sluice/event-log";
import { formatTime, planIssues } from "@sluice/protocol";
import { WAS_DISABLED, wasDisabledAt } from "../../delivery/routing/match.js";
import { shownHeaders } from "../../destinations/webhooks/request/request-headers.js";
import type { DestinationDocument, PlanOf } from "../../documents/documents.js";
import type { KnownToken } from "../../tokens/tokens.js";
import { notFound, withoutUndefined } from "../document-resource.js";
import { maskFor } from "../masking.js";
import { type BodySources, requestBodyOf } from "./request-body.js";

/** A delivery is a message at a destination: `dst_4kZ….1042`. */
function deliveryId(destinationId: string, offset: Offset): string {
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

/**
 * The outcomes of a message at every destination that gets it, including destinations that have not read it yet.
 * Callers that ask about many messages pass `destinations`, so that they are listed once.
 */
export async function outcomesOf(
  store: Store,
  message: Pick<StoredMessage, "offset" | "sourceId" | "onlyDestinations">,
  destinations?: readonly Versioned<DestinationDocument>[],
): Promise<OutcomeSummary[]> {
  const known = await store.consumers.outcomesOf(message.offset);
  const all = destinations ?? (await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination));
  const settled = new Set(known.map((delivery) => delivery.consumerId));
  const waiting = all.filter(({ id, value }) => !settled.has(id) && receives(id, value, message));
  return [
    ...known.map(outcomeSummary),
    ...waiting.map(
      ({ id, value }): OutcomeSummary => ({
        id: deliveryId(id, message.offset),
        destinationId: id,
        // A disabled destination records nothing until it is enabled again, but the outcome is known.
        ...(wasDisabledAt(value, message.offset)
          ? { state: "skipped", reason: WAS_DISABLED }
          : { state: "pending", reason: "queued" }),
      }),
    ),
  ];
}

/** The outcomes with all attempts, and with the request bodies if what makes them is given. */
export async function outcomesWithAttempts(
  store: Store,
  message: StoredMessage,
  bodies?: BodySources,
): Promise<OutcomeView[]> {
  const outcomes = await outcomesOf(store, message);
  return Promise.all(
    outcomes.map(async (outcome) => {
      const { destinationId } = outcome;
      const attempts = await attemptsOf(store, destinationId, message);
      if (bodies === undefined || attempts.length === 0) return { ...outcome, attempts };
      const requestBody = await requestBodyOf(bodies, destinationId, message);
      return { ...outcome, attempts, ...(requestBody === undefined ? {} : { requestBody }) };
    }),
  );
}

export async function attemptsOf(
  store: Store,
  destinationId: string,
  { offset, messageId }: Pick<StoredMessage, "offset" | "messageId">,
): Promise<AttemptView[]> {
  const attempts = await store.consumers.attemptsOf(destinationId, offset);
  return attempts.map(({ offset: _, ...attempt }) => attemptView(attempt, messageId));
}

export function outcomeSummary(delivery: Delivery): OutcomeSummary & { readonly at: string } {
  const { nextAttemptAtMs } = delivery;
  return {
    id: deliveryId(delivery.consumerId, delivery.offset),
    destinationId: delivery.consumerId,
    state: delivery.state,
    reason: delivery.reason,
    at: formatTime(delivery.atMs),
    ...(nextAttemptAtMs === undefined ? {} : { nextAttemptAt: formatTime(nextAttemptAtMs) }),
  };
}

/** An attempt with its time as text and the headers as they were sent. */
export function attemptView(
  { atMs, requestHeaders, responseHeaders, ...attempt }: Omit<Attempt, "offset">,
  messageId: string,
): AttemptView {
  return withoutUndefined({
    ...attempt,
    at: formatTime(atMs),
    requestHeaders: requestHeaders && shownHeaders(requestHeaders, messageId, { ...attempt, atMs }),
    responseHeaders: responseHeaders?.shown,
    // None left out is not said.
    responseHeadersLeftOut: responseHeaders?.leftOut || undefined,
  });
}

function receives(
  id: string,
  destination: DestinationDocument,
  message: Pick<StoredMessage, "offset" | "sourceId" | "onlyDestinations">,
): boolean {
  if (message.onlyDestinations !== undefined) return message.onlyDestinations.includes(id);
  return destination.connections.some(
    ({ sourceId, since, upTo }) =>
      sourceId === message.sourceId &&
      since < message.offset &&
      (upTo === undefined || message.offset <= upTo),
  );
}
