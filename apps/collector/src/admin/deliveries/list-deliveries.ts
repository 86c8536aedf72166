import { messageLoader } from "../../delivery/reading/message-loader.js";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint/endpoint.js";
import { maskUrls } from "../masking/mask-urls.js";
import { fillPage } from "../paging/fill-page.js";
import { pageRequest, timeSpan } from "../paging/page-request.js";
import { withoutUndefined } from "../without-undefined.js";
import { deliveryView } from "./delivery-view.js";
import { listByCause } from "./list-by-cause.js";

export const listDeliveries = endpoint("GET /deliveries", async ({ query, token }, { store, clock }) => {
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
