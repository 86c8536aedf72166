import type { Audiences } from "@sluice/audiences";
import { removeAudience } from "@sluice/audiences";
import { endpoint } from "../endpoint.js";
import { acceptRemoval } from "./accept-definition.js";

export const deleteAudience = (audiences: Audiences) =>
  endpoint({
    name: "audiences.delete",
    method: "DELETE",
    path: "/audiences/:id",
    summary: "Delete an audience: nothing more is sent, members are not told that they left",
    access: "write",
    answers: { status: 204, description: "It is gone" },
    errors: ["not_found", "conflict", "not_in_force"],
    async handle({ params }, { store }) {
      const id = params.id ?? "";
      acceptRemoval(await removeAudience(store, id));
      audiences.requireInForce(id);
      return { status: 204 };
    },
  });
