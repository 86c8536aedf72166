import { DOCUMENT_KINDS } from "@sluice/event-log";
import { compileFilter } from "@sluice/protocol";
import type { DestinationDocument } from "../../documents/documents.js";
import { endpoint } from "../endpoint/endpoint.js";
import { maskFor } from "../masking/mask-for.js";
import { fillPage } from "../paging/fill-page.js";
import { pageRequest, timeSpan } from "../paging/page-request.js";
import { withoutUndefined } from "../without-undefined.js";
import { readFilter, storeQuery } from "./filter-query.js";
import { receivedView } from "./message-view.js";
import { outcomesOf } from "./outcomes.js";
import { violationsField } from "./plan-violations.js";

export const listMessages = endpoint("GET /messages", async ({ query, token }, { store, planOf }) => {
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
      const summary = {
        ...receivedView(message),
        ...violationsField(message, planOf),
        outcomes: maskFor(token, outcomes),
      };
      return matches(summary) ? summary : undefined;
    },
  );
  return { status: 200, body };
});
