import { Type } from "@sinclair/typebox";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import type { DestinationDocument } from "../../documents/documents.js";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters } from "../list-query.js";
import { maskFor } from "../mask-for.js";
import { pageOfDocuments } from "../page-documents.js";
import { DestinationSchema, destinationView } from "./destination-schema.js";

export const listDestinations = endpoint({
  name: "destinations.list",
  method: "GET",
  path: "/destinations",
  summary: "Destinations, oldest first",
  access: "read",
  query: Type.Object(listParameters, { additionalProperties: false }),
  answers: { status: 200, description: "A page of destinations", schema: listOf(DestinationSchema) },
  async handle({ query, token }, { store, catalog }) {
    const all = await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination);
    return {
      status: 200,
      body: pageOfDocuments(all, query, (destination) =>
        maskFor(token, destinationView(destination, catalog)),
      ),
    };
  },
});
