import { CollectorError } from "../../errors.js";
import { notFound } from "../document-resource.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { pageOfDocuments } from "../paging.js";

export const tokenEndpoints: readonly Endpoint[] = [
  endpoint("POST /tokens", async ({ body }, { store, tokens }) => {
    const { view, token } = await tokens.create(body.name, body.access ?? "full", store.config);
    return { status: 201, body: { ...view, token } };
  }),
  endpoint("GET /tokens", ({ query }, { tokens }) => {
    return { status: 200, body: pageOfDocuments(tokens.list(), query) };
  }),
  endpoint("DELETE /tokens/:id", async ({ params: { id }, token }, { tokens }) => {
    if (id === token.id)
      throw new CollectorError("conflict", "a token cannot revoke itself: use another token");
    const revocation = await tokens.revoke(id);
    switch (revocation) {
      case "revoked":
        return { status: 204 };
      case "unknown":
        throw notFound("token", id);
      case "configured":
        throw new CollectorError(
          "conflict",
          "this token is configured: change the collector's setting adminToken (SLUICE_ADMIN_TOKEN) or metricsToken (SLUICE_METRICS_TOKEN) and restart it",
        );
      default:
        return revocation satisfies never;
    }
  }),
];
