import { removeComputedTrait } from "../../audiences/change-definitions.js";
import { acceptRemoval } from "../audiences/accept-definition.js";
import { endpoint } from "../endpoint.js";

export const deleteComputedTrait = endpoint({
  name: "computed_traits.delete",
  method: "DELETE",
  path: "/computed-traits/:id",
  summary: "Delete a computed trait: nothing more is sent",
  access: "write",
  answers: { status: 204, description: "It is gone" },
  errors: ["not_found"],
  async handle({ params }, { store }) {
    acceptRemoval(await removeComputedTrait(store, params.id ?? ""));
    return { status: 204 };
  },
});
