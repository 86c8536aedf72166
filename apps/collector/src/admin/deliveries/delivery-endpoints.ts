import { causeOf, type DeliveryView } from "@sluice/control-api";
import {
  type Consumers,
  type Delivery,
  type Offset,
  type Page,
  type PageRequest,
  type ScannedDelivery,
  type Store,
  type StoredMessage,
  StoreError,
} from "@sluice/event-log";
import { retryDelivery } from "../../delivery/control/retry-delivery.js";
import { messageLoader } from "../../delivery/reading/message-loader.js";
import { CollectorError } from "../../errors.js";
import { destinations } from "../destinations/destination-endpoints.js";
import { requireTarget } from "../destinations/require-target.js";
import { notFound, withoutUndefined } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskFor, maskUrls } from "../masking.js";
import { attemptsOf, outcomeSummary, outcomesOf, parseDeliveryId } from "../messages/outcomes.js";
import { requestBodyOf } from "../messages/request-body.js";
import { fillPage, pageRequest, timeSpan } from "../paging.js";

export function deliveryView(
  delivery: Delivery,
  { messageId, sourceId, message }: Pick<StoredMessage, "messageId" | "sourceId" | "message">,
): DeliveryView {
  return {
    ...outcomeSummary(delivery),
    messageId,
    sourceId,
    ...messageFields(message),
    attempts: delivery.rounds,
  };
}

/** What names a message besides its id. */
function messageFields(
  message: StoredMessage["message"],
): Pick<DeliveryView, "type" | "event" | "userId" | "anonymousId"> {
  const text = (name: "type" | "event" | "userId" | "anonymousId") =>
    typeof message[name] === "string" ? { [name]: message[name] } : {};
  return { ...text("type"), ...text("event"), ...text("userId"), ...text("anonymousId") };
}

interface CauseQuery {
  readonly destinationId: string;
  readonly cause: string;
  readonly state?: Delivery["state"] | undefined;
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** Stretches of the log that one page reads. */
const MOST_PARTS = 20;

/** Failed and pending deliveries with one cause, newest message first. The cursor is the offset of the last one. */
export async function listByCause(
  consumers: Pick<Consumers, "scan" | "outcomesOf">,
  query: CauseQuery,
  { limit, cursor }: PageRequest,
): Promise<Page<Delivery>> {
  const { destinationId, state } = query;
  const states = (["failed", "pending"] as const).filter((one) => (state ?? one) === one);
  const found: Offset[] = [];
  let before = cursor === undefined ? undefined : readOffset(cursor);
  for (let parts = 0; parts < MOST_PARTS && found.length <= limit; parts++) {
    const part = await consumers.scan(destinationId, states, before);
    for (const item of part.items) {
      const isNew = before === undefined || item.offset < before;
      if (isNew && found.length <= limit && matches(item, query)) found.push(item.offset);
    }
    before = part.before;
    if (before === undefined) break;
  }
  const offsets = found.slice(0, limit);
  const outcomes = await Promise.all(offsets.map((offset) => consumers.outcomesOf(offset, destinationId)));
  const items = outcomes.flat();
  const next = found.length > limit ? offsets.at(-1) : before;
  return { items, ...(next === undefined ? {} : { nextCursor: String(next) }) };
}

function matches(
  { reason, atMs }: ScannedDelivery,
  { cause, fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY }: CauseQuery,
): boolean {
  return atMs >= fromMs && atMs < toMs && causeOf(reason) === cause;
}

function readOffset(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor))
    throw new StoreError("invalid_request", `${JSON.stringify(cursor)} is not a cursor of this list`);
  return Number(cursor);
}

const listDeliveries = endpoint("GET /deliveries", async ({ query, token }, { store, clock }) => {
  const loader = messageLoader(store.log, clock);
  const { destinationId, state, error = "", cause } = query;
  if (cause !== undefined && destinationId === undefined)
    throw new CollectorError("invalid_request", "`cause` needs `destinationId`");
  const wanted = {
    ...withoutUndefined({ consumerId: destinationId, state }),
    // The store searches unmasked reasons. A token may only search in what it is shown.
    ...(error === "" || token.access !== "full" ? {} : { error }),
    ...timeSpan(query),
  };
  const body = await fillPage(
    pageRequest(query),
    (page) =>
      cause === undefined || destinationId === undefined
        ? store.consumers.list(wanted, page)
        : listByCause(store.consumers, { destinationId, cause, state, ...timeSpan(query) }, page),
    async (delivery) => {
      const stored = await loader.load(delivery.offset);
      // Retention or a deletion removed the message meanwhile.
      if (stored === undefined) return undefined;
      const shown = maskUrls(token, deliveryView(delivery, stored));
      return shown.reason.includes(error) ? shown : undefined;
    },
  );
  return { status: 200, body };
});

export const deliveryEndpoints: readonly Endpoint[] = [
  listDeliveries,
  endpoint("GET /deliveries/:id", async ({ params, token }, context) => {
    const { store } = context;
    const { delivery, message } = await findDelivery(store, params.id);
    const { consumerId } = delivery;
    const attempts = await attemptsOf(store, consumerId, message);
    const requestBody = attempts.length === 0 ? undefined : await requestBodyOf(context, consumerId, message);
    const body = withoutUndefined({ ...deliveryView(delivery, message), attempts, requestBody });
    return { status: 200, body: maskFor(token, body) };
  }),
  endpoint("POST /deliveries/:id/retry", async ({ params: { id } }, context) => {
    const { store, catalog, delivery: runtime } = context;
    const { delivery, message } = await findDelivery(store, id);
    requireTarget(await destinations.find(store.config, delivery.consumerId), catalog);
    if (!(await retryDelivery(context, delivery.consumerId, delivery.offset))) throw notFound("delivery", id);
    runtime.wake(delivery.consumerId);
    const { delivery: now } = await findDelivery(store, id);
    return { status: 202, body: deliveryView(now, message) };
  }),
];

/** The delivery of that id, with its message. Throws `not_found`. */
async function findDelivery(
  store: Store,
  id: string,
): Promise<{ readonly delivery: Delivery; readonly message: StoredMessage }> {
  const { destinationId, offset } = parseDeliveryId(id);
  const [stored, outcomes] = await Promise.all([store.log.get(offset), store.consumers.outcomesOf(offset)]);
  const delivery = outcomes.find(({ consumerId }) => consumerId === destinationId);
  if (stored !== undefined && delivery !== undefined) return { delivery, message: stored };
  const queued = stored && (await outcomesOf(store, stored)).find((outcome) => outcome.id === id);
  if (queued === undefined) throw notFound("delivery", id);
  throw new CollectorError(
    "not_found",
    `${id} is not a delivery yet (${queued.state}: ${queued.reason}): its destination has not read the message yet`,
  );
}
