import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";

export const revokeToken = endpoint({
  name: "tokens.revoke",
  method: "DELETE",
  path: "/tokens/:id",
  summary: "Revoke an admin token: it is refused from now on, and its live streams and waits end",
  access: "write",
  answers: { status: 204, description: "It is revoked" },
  errors: ["not_found", "conflict"],
  async handle({ params, token }, { tokens }) {
    const id = params.id ?? "";
    if (id === token.id)
      throw new CollectorError("conflict", "a token does not revoke itself: use another one");
    const revocation = await tokens.revoke(id);
    switch (revocation) {
      case "revoked":
        return { status: 204 };
      case "unknown":
        throw new CollectorError("not_found", `no token has the id ${id}`);
      case "configured":
        throw new CollectorError(
          "conflict",
          "this token is set by the operator: change the collector's setting adminToken (SLUICE_ADMIN_TOKEN) and restart it",
        );
      default:
        return revocation satisfies never;
    }
  },
});
