import { Type } from "@sinclair/typebox";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters, pageRequest, timeParameters, timeSpan } from "../list-query.js";
import { maskQueries } from "../mask-queries.js";
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
  async handle({ query, token }, { store }) {
    const { destinationId, state, error } = query;
    const page = await store.consumers.list(
      {
        ...(destinationId === undefined ? {} : { consumerId: destinationId }),
        ...(state === undefined ? {} : { state }),
        ...(error === undefined ? {} : { error }),
        ...timeSpan(query),
      },
      pageRequest(query),
    );
    const items = await Promise.all(
      page.items.map(async (delivery) => {
        const stored = await store.log.get(delivery.offset);
        return stored === undefined ? undefined : maskQueries(token, deliveryView(delivery, stored));
      }),
    );
    return {
      status: 200,
      body: {
        // A message that retention or a deletion took meanwhile has nothing left to show.
        items: items.filter((item) => item !== undefined),
        ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
      },
    };
  },
});
