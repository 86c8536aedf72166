import type { AttemptView, OutcomeSummary, OutcomeView } from "@sluice/control-api";
import {
  type Attempt,
  type Delivery,
  DOCUMENT_KINDS,
  type Store,
  type StoredMessage,
  type Versioned,
} from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import { WAS_DISABLED, wasDisabledAt } from "../../delivery/routing/match.js";
import { shownHeaders } from "../../destinations/webhooks/request/request-headers.js";
import type { DestinationDocument } from "../../documents/documents.js";
import { withoutUndefined } from "../document-resource.js";
import { deliveryId } from "./message-view.js";
import { type BodySources, requestBodyOf } from "./request-body.js";

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
