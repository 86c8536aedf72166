import { randomUUID } from "node:crypto";
import type { Store } from "@sluice/event-log";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import { formatTime, webhookPayload } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Catalog } from "../../destinations/catalog.js";
import type { Destination, OutgoingMessage, RoundAttempt } from "../../destinations/destination.js";
import type { DestinationDocument, SourceDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import { chainOf, type Transformations } from "../../transformations/transformations.js";
import { transforming } from "../sending/transforming.js";
import { disableTarget } from "./disable-target.js";

/** The result of a test message. */
export interface TestSend {
  readonly messageId: string;
  /** `pending`: a real message would be retried. */
  readonly state: "delivered" | "failed" | "filtered" | "pending";
  readonly reason: string;
  /** What was sent: the body of a request, or the message in JSON. */
  readonly requestBody: string;
  readonly attempts: readonly (RoundAttempt & { readonly attempt: number })[];
}

export interface TestParts {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly transformations: Pick<Transformations, "apply">;
}

/**
 * Sends one track message, `Test Event`, as any message of its first source is sent: same settings, transformations, signature, address
 * rules and deadline.
 * It is not logged and is tried once. Works for disabled destinations too. Resolves with undefined if there is no such destination.
 */
export async function testSend(
  { store, catalog, clock, transformations }: TestParts,
  destinationId: string,
): Promise<TestSend | undefined> {
  const document = await store.config.get<DestinationDocument>(DOCUMENT_KINDS.destination, destinationId);
  const type = document && catalog.get(document.value.type);
  if (document === undefined || type === undefined) return undefined;
  const messageId = `test-${randomUUID()}`;
  const opened = await type.open(document.value.settings).catch((cause: unknown) => {
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new CollectorError("invalid_request", `the destination cannot be opened: ${detail}`, { cause });
  });
  const { connections } = document.value;
  const source =
    connections[0] &&
    (await store.config.get<SourceDocument>(DOCUMENT_KINDS.source, connections[0].sourceId));
  const chain = (): readonly string[] => chainOf(source?.value, document.value);
  let last: OutgoingMessage | undefined;
  const watched: Destination = {
    flow: opened.flow,
    ...(opened.batches === undefined ? {} : { batches: opened.batches }),
    deliver(message, round) {
      last = message;
      return opened.deliver(message, round);
    },
    close: () => opened.close(),
  };
  const destination = transforming(watched, { transformations, chain, clock });
  try {
    const attempts: (RoundAttempt & { attempt: number })[] = [];
    const goneUrls: string[] = [];
    const nowMs = clock.now();
    const message = testMessage(messageId, document.value, nowMs);
    const delivered = destination.deliver(message, {
      number: 1,
      isAgain: true,
      numberAt: () => 1,
      isLast: true,
      isTest: true,
      waitingUrls: [],
      doneUrls: [],
      failedUrls: [],
      repeat() {},
      gone: (url) => void goneUrls.push(url),
      record: (attempt) => attempts.push({ ...attempt, attempt: 1 }),
    });
    destination.batches?.drain();
    const outcome = await delivered;
    for (const url of goneUrls) await disableTarget({ store, catalog, clock }, destinationId, url);
    const isOver = outcome.kind === "delivered" || outcome.kind === "failed" || outcome.kind === "filtered";
    const state = isOver ? outcome.kind : "pending";
    const reason = "reason" in outcome ? outcome.reason : "aborted";
    const sent = last ?? message;
    const requestBody =
      type.requestBody?.(document.value.settings, sent) ??
      JSON.stringify(webhookPayload(sent.message, sent.timestamp));
    return { messageId, state, reason, requestBody, attempts };
  } finally {
    await destination.close();
  }
}

function testMessage(
  messageId: string,
  { connections }: Pick<DestinationDocument, "connections">,
  nowMs: number,
): OutgoingMessage {
  return {
    messageId,
    sourceId: connections[0]?.sourceId ?? "test",
    timestamp: formatTime(nowMs),
    offset: 0,
    receivedAtMs: nowMs,
    message: {
      type: "track",
      messageId,
      userId: "test-user",
      event: "Test Event",
      properties: { test: true },
    },
  };
}
