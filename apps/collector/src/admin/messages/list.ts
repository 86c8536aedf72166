import { Type } from "@sinclair/typebox";
import type { StoredMessage } from "@sluice/event-log";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import { compileFilter, formatTime, type MessageSummary } from "@sluice/protocol";
import type { DestinationDocument } from "../../documents/documents.js";
import { endpoint } from "../endpoint.js";
import { fillPage } from "../fill-page.js";
import { listOf, listParameters, pageRequest, timeParameters, timeSpan } from "../list-query.js";
import { maskFor } from "../mask-for.js";
import { readFilter, storeQuery } from "./filter-query.js";
import { MessageSummarySchema } from "./message-schema.js";
import { outcomesOf } from "./outcomes.js";

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
    const matches = compileFilter(filter);
    const { messageId, userId, type, event, sourceId } = query;
    const wanted = {
      ...storeQuery(filter),
      ...withoutUndefined({ messageId, userId, type, event, sourceId }),
      ...timeSpan(query),
    };
    const destinations = await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination);
    const body = await fillPage(
      pageRequest(query),
      (page) => store.log.find(wanted, page),
      async (message) => {
        const outcomes = await outcomesOf(store, message, destinations);
        const summary = summaryOf(message, maskFor(token, outcomes));
        return matches(summary) ? summary : undefined;
      },
    );
    return { status: 200, body };
  },
});

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
