import type { Offset, Retry } from "@sluice/event-log";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { CatchUpDocument, DestinationDocument } from "../../documents/documents.js";
import type { DeliveryStore } from "../delivery-stage.js";
import { messagesOf, type SharedReader } from "./shared-reader.js";

export interface CatchUpDeps {
  readonly store: DeliveryStore;
  readonly reader: SharedReader;
  readonly clock: Clock;
}

/** Retries per commit. */
const BATCH = 500;

/**
 * When a source is connected while the log grows, the destination's cursor may already have passed some of its messages. This puts
 * them into the retry queue, due now. Resolves with whether there were any, once that is synced and the `catch_up` document is
 * deleted. Until then a restart repeats it.
 */
export async function catchUp(
  deps: CatchUpDeps,
  { destinationId, sourceId, since }: CatchUpDocument,
  passed: Offset,
): Promise<boolean> {
  const { store, reader, clock } = deps;
  let missed: Retry[] = [];
  let hasMissed = false;
  const put = async (): Promise<void> => {
    if (missed.length === 0) return;
    hasMissed = true;
    await store.consumers.requeue(destinationId, missed);
    missed = [];
  };
  for await (const { offset } of messagesOf(reader, sourceId, since, passed)) {
    // Some may have been queued, and delivered, before a restart.
    const known = await store.consumers.outcomesOf(offset);
    if (known.some(({ consumerId }) => consumerId === destinationId)) continue;
    missed.push(queued(offset, clock.monotonic()));
    if (missed.length === BATCH) await put();
  }
  await put();
  const id = `${destinationId}/${sourceId}`;
  const document = await store.config.get<CatchUpDocument>(DOCUMENT_KINDS.catchUp, id);
  // The source may have been connected anew meanwhile.
  if (document?.value.since === since) await store.config.delete(DOCUMENT_KINDS.catchUp, id);
  return hasMissed;
}

/**
 * The catch-ups that a destination still needs. A document without its connection stays: it is written before the connection is, and the
 * next connection of its source replaces it. `connections` is asked last, because they may have changed meanwhile.
 */
export async function pendingCatchUps(
  store: Pick<DeliveryStore, "config">,
  destinationId: string,
  connections: () => DestinationDocument["connections"],
): Promise<CatchUpDocument[]> {
  const documents = await store.config.list<CatchUpDocument>(DOCUMENT_KINDS.catchUp);
  const now = connections();
  return documents.flatMap(({ value }) => {
    if (value.destinationId !== destinationId) return [];
    const isConnected = ({ sourceId, since }: (typeof now)[number]): boolean =>
      sourceId === value.sourceId && since === value.since;
    return now.some(isConnected) ? [value] : [];
  });
}

function queued(offset: Offset, nowMs: number): Retry {
  return {
    offset,
    rounds: 0,
    firstAttemptAtMs: nowMs,
    dueAtMs: nowMs,
    reason: "queued",
    doneUrls: [],
    replay: false,
  };
}
