import { createDestination as create } from "../../delivery/control/connections.js";
import { endpoint } from "../endpoint.js";
import { acceptChange } from "./accept-change.js";
import { DestinationInputSchema, DestinationSchema, destinationView } from "./destination-schema.js";

export const createDestination = endpoint({
  name: "destinations.create",
  method: "POST",
  path: "/destinations",
  summary: "Make a destination; it gets its sources' messages from now on",
  access: "write",
  body: DestinationInputSchema,
  answers: { status: 201, description: "The destination", schema: DestinationSchema },
  async handle({ body }, { store, catalog, clock }) {
    const destination = acceptChange(await create({ store, catalog, clock }, body));
    return { status: 201, body: destinationView(destination, catalog) };
  },
});
