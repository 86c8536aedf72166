import type { Offset, Retry, Store } from "@sluice/event-log";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { CatchUpDocument, DestinationDocument } from "../../documents/documents.js";
import { messagesOf, type SharedReader } from "./shared-reader.js";

export interface CatchUpDeps {
  readonly store: Store;
  readonly reader: SharedReader;
  readonly clock: Clock;
}

/** Retries that are put in one commit. */
const AT_ONCE = 500;

/**
 * A source that is connected while the log grows: the destination's cursor may have passed some of its messages before it
 * heard of the connection. Those go into the retry queue, as due now. Resolves with whether there were any, when that is synced and
 * the mark is gone; until then a restart does it again.
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
    // Before a restart some were put already, and may have ended.
    const known = await store.consumers.outcomesOf(offset);
    if (known.some(({ consumerId }) => consumerId === destinationId)) continue;
    missed.push(queued(offset, clock.monotonic()));
    if (missed.length === AT_ONCE) await put();
  }
  await put();
  await store.config.delete(DOCUMENT_KINDS.catchUp, `${destinationId}/${sourceId}`);
  return hasMissed;
}

/** What is to be caught up with at a destination, as its document says now; marks of connections that came to nothing are removed. */
export async function owedCatchUps(
  store: Store,
  destinationId: string,
  { connections }: Pick<DestinationDocument, "connections">,
): Promise<CatchUpDocument[]> {
  const owed: CatchUpDocument[] = [];
  for (const { id, value } of await store.config.list<CatchUpDocument>(DOCUMENT_KINDS.catchUp)) {
    if (value.destinationId !== destinationId) continue;
    const isConnected = connections.some(
      ({ sourceId, since }) => sourceId === value.sourceId && since === value.since,
    );
    if (isConnected) owed.push(value);
    else await store.config.delete(DOCUMENT_KINDS.catchUp, id);
  }
  return owed;
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
