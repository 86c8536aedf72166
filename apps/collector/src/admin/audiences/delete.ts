import { removeAudience } from "../../audiences/change-definitions.js";
import { endpoint } from "../endpoint.js";
import { acceptRemoval } from "./accept-definition.js";

export const deleteAudience = endpoint({
  name: "audiences.delete",
  method: "DELETE",
  path: "/audiences/:id",
  summary: "Delete an audience: nothing more is sent, members are not told that they left",
  access: "write",
  answers: { status: 204, description: "It is gone" },
  errors: ["not_found", "conflict"],
  async handle({ params }, { store }) {
    acceptRemoval(await removeAudience(store, params.id ?? ""));
    return { status: 204 };
  },
});
