import { notFound } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { pageOf, pageRequest, timeSpan } from "../paging/page-request.js";
import { withoutUndefined } from "../without-undefined.js";
import { findMessage } from "./find-message.js";
import { listMessages } from "./list-messages.js";
import { maskedMessage, rejectedView } from "./message-view.js";
import { waitForMessage } from "./wait-for-message.js";

export const messageEndpoints: readonly Endpoint[] = [
  listMessages,
  endpoint("GET /messages/:messageId", async ({ params, query, token }, context) => {
    const { store, audiences, planOf } = context;
    const sources = { audiences, planOf, bodies: context };
    const found = await findMessage(store, params.messageId, query.sourceId, sources);
    if (found === undefined) throw notFound("message", params.messageId);
    return { status: 200, body: maskedMessage(token, found) };
  }),
  endpoint("GET /rejected-messages", async ({ query }, { store }) => {
    const { messageId, sourceId } = query;
    const wanted = { ...withoutUndefined({ messageId, sourceId }), ...timeSpan(query) };
    const page = await store.rejections.find(wanted, pageRequest(query));
    return { status: 200, body: pageOf(page, rejectedView) };
  }),
  waitForMessage,
];
