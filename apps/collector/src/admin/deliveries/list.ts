import { Type } from "@sinclair/typebox";
import { messageLoader } from "../../delivery/reading/message-loader.js";
import { endpoint } from "../endpoint.js";
import { fillPage } from "../fill-page.js";
import { listOf, listParameters, pageRequest, timeParameters, timeSpan } from "../list-query.js";
import { maskUrls } from "../mask-urls.js";
import { StateSchema } from "../messages/message-schema.js";
import { DeliverySchema, deliveryView } from "./delivery-schema.js";

export const listDeliveries = endpoint({
  name: "deliveries.list",
  method: "GET",
  path: "/deliveries",
  summary: "Deliveries, newest first; failed and pending ones where no state is asked for",
  access: "read",
  query: Type.Object(
    {
      destinationId: Type.Optional(Type.String()),
      state: Type.Optional(StateSchema),
      error: Type.Optional(Type.String({ description: "Text that the reason contains" })),
      ...timeParameters,
      ...listParameters,
    },
    { additionalProperties: false },
  ),
  answers: { status: 200, description: "A page of deliveries", schema: listOf(DeliverySchema) },
  async handle({ query, token }, { store, clock }) {
    const loader = messageLoader(store.log, clock);
    const { destinationId, state, error = "" } = query;
    const wanted = {
      ...(destinationId === undefined ? {} : { consumerId: destinationId }),
      ...(state === undefined ? {} : { state }),
      // The store knows reasons as they are, and only in what it is shown may a token search.
      ...(error === "" || token.access !== "full" ? {} : { error }),
      ...timeSpan(query),
    };
    const body = await fillPage(
      pageRequest(query),
      (page) => store.consumers.list(wanted, page),
      async (delivery) => {
        const stored = await loader.load(delivery.offset);
        // A message that retention or a deletion took meanwhile has nothing left to show.
        if (stored === undefined) return undefined;
        const shown = maskUrls(token, deliveryView(delivery, stored));
        return shown.reason.includes(error) ? shown : undefined;
      },
    );
    return { status: 200, body };
  },
});
