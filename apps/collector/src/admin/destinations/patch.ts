import { changeDestination } from "../../delivery/control/connections.js";
import { checkVersion } from "../check-version.js";
import { endpoint } from "../endpoint.js";
import { acceptChange } from "./accept-change.js";
import { DestinationPatchSchema, DestinationSchema, destinationView } from "./destination-schema.js";
import { findDestination } from "./find-destination.js";

export const patchDestination = endpoint({
  name: "destinations.patch",
  method: "PATCH",
  path: "/destinations/:id",
  summary: "Enable, disable, rename, connect to sources, change settings or filters",
  access: "write",
  body: DestinationPatchSchema,
  answers: { status: 200, description: "The destination as it is now", schema: DestinationSchema },
  errors: ["not_found", "conflict", "precondition_failed"],
  async handle({ params, body, ifMatch }, { store, catalog, clock }) {
    const before = await findDestination(store.config, params.id);
    checkVersion(before.version, { ifMatch, version: body.version });
    const version = ifMatch ?? body.version;
    const change = { ...body, ...(version === undefined ? {} : { version }) };
    const destination = acceptChange(await changeDestination({ store, catalog, clock }, before.id, change));
    return { status: 200, body: destinationView(destination, catalog) };
  },
});
