import { removeDestination } from "../../delivery/control/connections.js";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";

export const deleteDestination = endpoint({
  name: "destinations.delete",
  method: "DELETE",
  path: "/destinations/:id",
  summary: "Delete a destination with everything kept about its deliveries",
  access: "write",
  answers: { status: 204, description: "It is gone" },
  errors: ["not_found"],
  async handle({ params }, { store }) {
    if (!(await removeDestination(store, params.id ?? "")))
      throw new CollectorError("not_found", `no destination has the id ${params.id}`);
    return { status: 204 };
  },
});
