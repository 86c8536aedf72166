import type { Audiences } from "@sluice/audiences";
import { removeComputedTrait } from "@sluice/audiences";
import { acceptRemoval } from "../audiences/accept-definition.js";
import { endpoint } from "../endpoint.js";

export const deleteComputedTrait = (audiences: Audiences) =>
  endpoint({
    name: "computed_traits.delete",
    method: "DELETE",
    path: "/computed-traits/:id",
    summary: "Delete a computed trait: nothing more is sent",
    access: "write",
    answers: { status: 204, description: "It is gone" },
    errors: ["not_found", "not_in_force"],
    async handle({ params }, { store }) {
      const id = params.id ?? "";
      acceptRemoval(await removeComputedTrait(store, id));
      audiences.requireInForce(id);
      return { status: 204 };
    },
  });
