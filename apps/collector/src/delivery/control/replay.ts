import type {
  Delivery,
  FinalState,
  Offset,
  Page,
  PageRequest,
  Retry,
  Store,
  StoredMessage,
} from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { type MessageLoader, messageLoader } from "../reading/message-loader.js";

export interface ReplayRequest {
  readonly destinationId: string;
  readonly messageId?: string;
  readonly type?: string;
  readonly event?: string;
  /** `userId`, or `anonymousId` where there is none. */
  readonly userId?: string;
  /** Only messages with this outcome. Default: any outcome. Pending ones are never replayed. */
  readonly state?: FinalState;
  /** By receipt, inclusive and exclusive. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

export interface ReplayOptions {
  /** Only counts. Default: false. */
  readonly dryRun?: boolean;
  /** Messages per second. Default: 200. */
  readonly perSecond?: number;
}

export interface ReplayResult {
  /** Messages that are, or would be, sent again. */
  readonly count: number;
}

const PAGE = 500;
const DEFAULT_PER_SECOND = 200;

/**
 * Sends finished messages to a destination again: under the same message ids, marked as replays, and spread over time so that a
 * replay of a whole day does not delay today's messages.
 */
export async function replay(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  request: ReplayRequest,
  { dryRun = false, perSecond = DEFAULT_PER_SECOND }: ReplayOptions = {},
): Promise<ReplayResult> {
  const startMs = clock.monotonic();
  let count = 0;
  for await (const offsets of finishedMessages(store, messageLoader(store.log, clock), request)) {
    if (!dryRun) {
      const retries = offsets.map((offset, index) =>
        freshReplay(offset, startMs + Math.floor(((count + index) * 1_000) / perSecond)),
      );
      await store.consumers.requeue(request.destinationId, retries);
    }
    count += offsets.length;
  }
  return { count };
}

/**
 * Tries one delivery now: a pending one before it is due, a finished one again. Resolves with false if the destination has no
 * delivery of that message.
 */
export async function retryDelivery(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  destinationId: string,
  offset: Offset,
): Promise<boolean> {
  const delivery = await deliveryOf(store, destinationId, offset);
  if (delivery === undefined) return false;
  const { retry = freshReplay(offset, clock.monotonic()) } = delivery;
  const dueAtMs = clock.monotonic();
  const urls = retry.urls?.map((url) => ({ ...url, dueAtMs }));
  await store.consumers.requeue(destinationId, [
    { ...retry, dueAtMs, ...(urls === undefined ? {} : { urls }) },
  ]);
  return true;
}

async function deliveryOf(store: Store, consumerId: string, offset: Offset): Promise<Delivery | undefined> {
  return (await store.consumers.outcomesOf(offset)).find((delivery) => delivery.consumerId === consumerId);
}

function freshReplay(offset: Offset, dueAtMs: number): Retry {
  return {
    offset,
    rounds: 0,
    firstAttemptAtMs: dueAtMs,
    dueAtMs,
    reason: "replay",
    doneUrls: [],
    replay: true,
  };
}

/** Offsets of the messages that match the request, page by page. */
async function* finishedMessages(
  store: Store,
  loader: MessageLoader,
  request: ReplayRequest,
): AsyncGenerator<Offset[]> {
  let cursor: string | undefined;
  do {
    const page: PageRequest = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const { items, nextCursor } =
      request.state === undefined
        ? await messagePage(store, request, page)
        : await deliveryPage(store, loader, request, request.state, page);
    if (items.length > 0) yield [...items];
    cursor = nextCursor;
  } while (cursor !== undefined);
}

async function messagePage(store: Store, request: ReplayRequest, page: PageRequest): Promise<Page<Offset>> {
  const { destinationId, state: _, ...query } = request;
  const { items, ...rest } = await store.log.find(query, page);
  const deliveries = await Promise.all(items.map(({ offset }) => deliveryOf(store, destinationId, offset)));
  const finished = deliveries.filter((delivery) => delivery !== undefined && delivery.state !== "pending");
  return { items: finished.flatMap((delivery) => delivery?.offset ?? []), ...rest };
}

/** Starts from the deliveries with that outcome, which are far fewer than the messages. */
async function deliveryPage(
  store: Store,
  loader: MessageLoader,
  request: ReplayRequest,
  state: FinalState,
  page: PageRequest,
): Promise<Page<Offset>> {
  const { items, ...rest } = await store.consumers.list({ consumerId: request.destinationId, state }, page);
  const wanted: Offset[] = [];
  for (const { offset } of items) {
    const stored = await loader.load(offset);
    if (stored !== undefined && matchesRequest(stored, request)) wanted.push(offset);
  }
  return { items: wanted, ...rest };
}

function matchesRequest(
  { messageId, receivedAtMs, message }: StoredMessage,
  request: ReplayRequest,
): boolean {
  const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = request;
  return (
    receivedAtMs >= fromMs &&
    receivedAtMs < toMs &&
    (request.messageId === undefined || request.messageId === messageId) &&
    (request.type === undefined || request.type === message.type) &&
    (request.event === undefined || request.event === message.event) &&
    (request.userId === undefined || request.userId === (message.userId ?? message.anonymousId))
  );
}
