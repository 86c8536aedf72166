import { Type } from "@sinclair/typebox";
import { formatTime, type MessageFilter, type MessageSummary, matchesFilter } from "@sluice/protocol";
import { type DestinationDocument, DOCUMENT_KINDS } from "../../store/documents.js";
import type { MessageQuery, PageRequest, Store, StoredMessage } from "../../store/store.js";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters, pageRequest, timeParameters, timeSpan } from "../list-query.js";
import { maskQueries } from "../mask-queries.js";
import { readFilter, storeQuery } from "./filter-query.js";
import { MessageSummarySchema } from "./message-schema.js";
import { outcomesOf } from "./outcomes.js";

/** One request looks at so many messages at most; what is beyond is for the next page. */
const MOST_LOOKED_AT = 5_000;

export const listMessages = endpoint({
  name: "messages.list",
  method: "GET",
  path: "/messages",
  summary: "Stored messages, newest first",
  access: "read",
  query: Type.Object(
    {
      messageId: Type.Optional(Type.String()),
      userId: Type.Optional(
        Type.String({ description: "The user id, or the anonymous id where there is none" }),
      ),
      type: Type.Optional(Type.String()),
      event: Type.Optional(Type.String()),
      sourceId: Type.Optional(Type.String()),
      ...timeParameters,
      q: Type.Optional(
        Type.String({
          description: 'A filter: `type:track event:"Signed Up" user:42 outcome:failed some text`',
        }),
      ),
      ...listParameters,
    },
    { additionalProperties: false },
  ),
  answers: {
    status: 200,
    description:
      "A page of messages. With a filter that few messages match a page may be short and have a `nextCursor` all the same.",
    schema: listOf(MessageSummarySchema),
  },
  async handle({ query, token }, { store }) {
    const filter = readFilter(query.q);
    const { messageId, userId, type, event, sourceId } = query;
    const wanted = {
      ...storeQuery(filter),
      ...withoutUndefined({ messageId, userId, type, event, sourceId }),
      ...timeSpan(query),
    };
    const { items, ...rest } = await findMessages(store, wanted, filter, pageRequest(query));
    return {
      status: 200,
      body: {
        items: items.map((item) => ({ ...item, outcomes: maskQueries(token, item.outcomes) })),
        ...rest,
      },
    };
  },
});

/** Pages of the store, until enough of their messages match or enough were looked at. */
async function findMessages(
  store: Store,
  query: MessageQuery,
  filter: MessageFilter,
  { limit, cursor: from }: PageRequest,
): Promise<{ items: MessageSummary[]; nextCursor?: string }> {
  const destinations = await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination);
  const items: MessageSummary[] = [];
  let cursor = from;
  for (let looked = 0; ; ) {
    // A page of the store is taken whole, so that its cursor is ours: never more than are still wanted.
    const page = await store.log.find(query, {
      limit: limit - items.length,
      ...(cursor === undefined ? {} : { cursor }),
    });
    const found = await Promise.all(
      page.items.map(async (message) => summaryOf(message, await outcomesOf(store, message, destinations))),
    );
    items.push(...found.filter((item) => matchesFilter(filter, item)));
    looked += page.items.length;
    cursor = page.nextCursor;
    if (cursor === undefined) return { items };
    if (items.length >= limit || looked >= MOST_LOOKED_AT) return { items, nextCursor: cursor };
  }
}

function summaryOf(message: StoredMessage, outcomes: MessageSummary["outcomes"]): MessageSummary {
  return {
    messageId: message.messageId,
    sourceId: message.sourceId,
    receivedAt: formatTime(message.receivedAtMs),
    message: message.message,
    outcomes,
  };
}

function withoutUndefined<T extends object>(object: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
