import { endpoint } from "../endpoint.js";
import { maskFor } from "../mask-for.js";
import { DestinationSchema, destinationView } from "./destination-schema.js";
import { findDestination } from "./find-destination.js";

export const getDestination = endpoint({
  name: "destinations.get",
  method: "GET",
  path: "/destinations/:id",
  summary: "One destination; of its secrets only that they are set",
  access: "read",
  answers: { status: 200, description: "The destination", schema: DestinationSchema },
  errors: ["not_found"],
  async handle({ params, token }, { store, catalog }) {
    const destination = await findDestination(store.config, params.id);
    return { status: 200, body: maskFor(token, destinationView(destination, catalog)) };
  },
});
