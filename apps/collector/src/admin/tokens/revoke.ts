import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";

export const revokeToken = endpoint({
  name: "tokens.revoke",
  method: "DELETE",
  path: "/tokens/:id",
  summary: "Revoke an admin token: it is refused from now on",
  access: "write",
  answers: { status: 204, description: "It is revoked" },
  errors: ["not_found", "conflict"],
  async handle({ params, token }, { tokens }) {
    const id = params.id ?? "";
    if (id === token.id)
      throw new CollectorError("conflict", "a token does not revoke itself: use another one");
    if (!(await tokens.revoke(id))) throw new CollectorError("not_found", `no token has the id ${id}`);
    return { status: 204 };
  },
});
