import type { Attempt, Delivery, Store, StoredMessage, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import { type AttemptView, formatTime, type OutcomeSummary, type OutcomeView } from "@sluice/protocol";
import { WAS_DISABLED, wasDisabledAt } from "../../delivery/routing/match.js";
import { shownHeaders } from "../../destinations/webhooks/request-headers.js";
import type { DestinationDocument } from "../../documents/documents.js";
import { deliveryId } from "./delivery-id.js";

/**
 * What became of a message at every destination that is to get it, those too that have not come to it yet.
 * `destinations` may be given by a caller that asks for many messages.
 */
export async function outcomesOf(
  store: Store,
  message: Pick<StoredMessage, "offset" | "sourceId" | "onlyDestinations">,
  destinations?: readonly Versioned<DestinationDocument>[],
): Promise<OutcomeSummary[]> {
  const known = await store.consumers.outcomesOf(message.offset);
  const all = destinations ?? (await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination));
  const settled = new Set(known.map((delivery) => delivery.consumerId));
  const waiting = all.filter(({ id, value }) => !settled.has(id) && isMeant(id, value, message));
  return [
    ...known.map(outcomeSummary),
    ...waiting.map(
      ({ id, value }): OutcomeSummary => ({
        id: deliveryId(id, message.offset),
        destinationId: id,
        // A disabled destination settles nothing until it is enabled again, but what will come of it is known.
        ...(wasDisabledAt(value, message.offset)
          ? { state: "skipped", reason: WAS_DISABLED }
          : { state: "pending", reason: "queued" }),
      }),
    ),
  ];
}

/** The same with every attempt that was made. */
export async function outcomesWithAttempts(store: Store, message: StoredMessage): Promise<OutcomeView[]> {
  const outcomes = await outcomesOf(store, message);
  return Promise.all(
    outcomes.map(async (outcome) => ({
      ...outcome,
      attempts: await attemptsOf(store, outcome.destinationId, message),
    })),
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

export function outcomeSummary(delivery: Delivery): OutcomeSummary {
  return {
    id: deliveryId(delivery.consumerId, delivery.offset),
    destinationId: delivery.consumerId,
    state: delivery.state,
    reason: delivery.reason,
    at: formatTime(delivery.atMs),
    ...(delivery.nextAttemptAtMs === undefined
      ? {}
      : { nextAttemptAt: formatTime(delivery.nextAttemptAtMs) }),
  };
}

export function attemptView(attempt: Omit<Attempt, "offset">, messageId: string): AttemptView {
  const {
    attempt: round,
    atMs,
    url,
    address,
    status,
    error,
    latencyMs,
    requestHeaders,
    response,
    replay,
  } = attempt;
  return {
    attempt: round,
    at: formatTime(atMs),
    url,
    latencyMs,
    ...(address === undefined ? {} : { address }),
    ...(status === undefined ? {} : { status }),
    ...(error === undefined ? {} : { error }),
    ...(requestHeaders === undefined
      ? {}
      : { requestHeaders: shownHeaders(requestHeaders, messageId, attempt) }),
    ...(response === undefined ? {} : { response }),
    ...(replay === undefined ? {} : { replay }),
  };
}

function isMeant(
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
